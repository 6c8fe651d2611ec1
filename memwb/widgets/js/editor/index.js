// CodeMirror 6 for short Python callbacks. One editor holds several documents, each with its own undo history.
//
// Every trait has one writer. The kernel owns `documents` (the text that was put in from there, and a version that grows
// with it), `document` (the one that is open), `marks` and `completions`; the page owns `typed` (what a person made of a
// document, and of which version). So an answer of the kernel never overwrites what is being typed; only a text that was
// put in by the kernel replaces it, and undo brings the typed one back.
import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Annotation, EditorState, Prec } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, lineNumbers, tooltips } from "@codemirror/view";

import { keepKeys } from "../keys.js";
import { passComplete, sources } from "./completion.js";
import { theme } from "./theme.js";

const TAB_FREE = 30_000; // ms after Escape in which Tab leaves an editor that has no place to go back to
const FromKernel = Annotation.define();

// The smallest change from one text to another, so that cursor and marks outside of it stay where they are.
function change(from, to) {
  let start = 0;
  const most = Math.min(from.length, to.length);
  while (start < most && from[start] === to[start]) start++;
  let end = 0;
  while (end < most - start && from[from.length - 1 - end] === to[to.length - 1 - end]) end++;
  return { from: start, to: from.length - end, insert: to.slice(start, to.length - end) };
}

class Editor {
  constructor(model, parent, said) {
    this.model = model;
    this.root = parent;
    this.said = said; // shown while the kernel has not looked at the text
    this.name = model.get("document");
    this.states = new Map(); // of the documents that are not open: [state, scroll position]
    this.seen = new Map(); // document -> version of the text that it holds
    this.timer = 0;
    this.view = new EditorView({ parent, state: this.made() });
    this.mark();
  }

  // -- texts ----------------------------------------------------------------------------------------------------------

  // The newest text of a document that model and page agree on, with its version and edit.
  current(name = this.name) {
    const given = this.model.get("documents")[name] ?? { text: "", version: 0 };
    const typed = this.model.get("typed")[name];
    return typed?.version === given.version ? typed : { edit: 0, ...given };
  }

  made() {
    const { text, version } = this.current();
    this.seen.set(this.name, version);
    return EditorState.create({ doc: text, extensions: this.extensions() });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  changed(update) {
    if (!update.docChanged || update.transactions.every((one) => one.annotation(FromKernel))) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.push(), this.model.get("pause") * 1000);
    this.tell();
  }

  // What the kernel says of a text is about that text alone: what was typed since is told apart here, without it. It may
  // be busy for long, or gone.
  tell() {
    const { version, edit } = this.current();
    const answered = this.model.get("marks")[this.name] ?? { version, edit: 0 };
    const waiting = this.timer !== 0 || answered.version !== version || answered.edit !== edit;
    this.root.classList.toggle("mwc-waiting", waiting);
    this.said.hidden = !waiting;
  }

  // Tell the kernel what was typed.
  push() {
    clearTimeout(this.timer);
    this.timer = 0;
    const { text, edit } = this.current();
    if (text === this.text) return this.tell();
    const typed = { version: this.seen.get(this.name), edit: edit + 1, text: this.text };
    this.model.set("typed", { ...this.model.get("typed"), [this.name]: typed });
    this.model.save_changes();
    this.tell();
  }

  // Show a text that the kernel put in, or that another view of this editor sent.
  pull() {
    const { text, version } = this.current();
    const put = version !== this.seen.get(this.name);
    if (!put && this.timer) return; // what is being typed here wins
    clearTimeout(this.timer);
    this.timer = 0;
    this.seen.set(this.name, version);
    if (text !== this.text) {
      this.view.dispatch({
        changes: change(this.text, text),
        annotations: [FromKernel.of(true), isolateHistory.of("full")],
      });
    }
    this.mark();
  }

  // Open another document; the one that leaves keeps cursor, scroll position and undo history.
  open() {
    const name = this.model.get("document");
    if (name === this.name) return;
    if (this.timer) this.push();
    this.states.set(this.name, [this.view.state, this.view.scrollSnapshot()]);
    this.name = name;
    const [state, scroll] = this.states.get(name) ?? [this.made(), null];
    this.view.setState(state);
    if (scroll) this.view.dispatch({ effects: scroll });
    this.pull();
  }

  apply() {
    this.push();
    const { edit } = this.current();
    // With the text: a trait may wait in the page while the kernel is busy, a message does not.
    this.model.send({ do: "apply", document: this.name, version: this.seen.get(this.name), edit, text: this.text });
    return true;
  }

  // -- marks ----------------------------------------------------------------------------------------------------------

  // Marks belong to one state of the text; those of an older state are dropped, newer ones follow.
  mark() {
    const { version, edit } = this.current();
    const marks = this.model.get("marks")[this.name] ?? { version, edit, problems: [] };
    this.tell();
    if (this.timer || marks.version !== version || marks.edit !== edit) return;
    const { doc } = this.view.state;
    const found = marks.problems.map(({ line, message, severity }) => {
      const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
      const indent = at.text.length - at.text.trimStart().length;
      return { from: at.from + (at.text.trim() ? indent : 0), to: at.to, severity: severity ?? "error", message };
    });
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }

  // -- the keyboard ---------------------------------------------------------------------------------------------------

  get bench() {
    return this.root.closest(".memwb-bench");
  }

  // Take the focus, in a workbench only from another part of it: the same editor may be on the page twice.
  take() {
    const { bench } = this;
    const active = document.activeElement;
    if (!bench || active === document.body || bench.contains(active)) this.view.focus();
  }

  // Go back to the button that opened the editor, and which Tab goes on from: Tab itself indents here.
  leave(view) {
    const button = this.bench?.querySelector(".memwb-open.mod-active");
    if (button) button.focus();
    else view.setTabFocusMode(TAB_FREE);
    return true;
  }

  // -- the rest -------------------------------------------------------------------------------------------------------

  items() {
    const list = this.model.get("completions")[this.name] ?? [];
    return list.map(([owner, name, kind, doc, of, each]) => ({ owner, name, kind, doc, of, each }));
  }

  attributes() {
    const problems = this.model.get("marks")[this.name]?.problems ?? [];
    return {
      tabindex: "0", // what scrolls can be reached by keyboard: without it a tool may not see that
      "aria-label": this.model.get("labels")[this.name] ?? `${this.name} callback`,
      "aria-description": `Escape${this.bench ? "" : ", then Tab,"} leaves the editor. Control or Command with Enter applies the code.`,
      ...(problems.length ? { "aria-invalid": "true" } : {}),
    };
  }

  extensions() {
    const apply = () => this.apply();
    const keys = [
      { key: "Mod-Enter", run: apply },
      { key: "Shift-Enter", run: apply },
      { key: "Enter", run: passComplete },
      { key: "Tab", run: acceptCompletion },
    ];
    return [
      Prec.highest(keymap.of(keys)),
      lineNumbers(),
      lintGutter(),
      highlightSpecialChars(),
      history(),
      indentOnInput(),
      indentUnit.of("    "),
      EditorState.tabSize.of(4),
      bracketMatching(),
      closeBrackets(),
      python(),
      autocompletion({ override: sources(() => ({ document: this.name, items: this.items() })), icons: false }),
      keymap.of([
        ...closeBracketsKeymap,
        ...completionKeymap,
        ...historyKeymap,
        ...lintKeymap,
        indentWithTab,
        ...defaultKeymap,
        { key: "Escape", run: (view) => this.leave(view) },
      ]),
      tooltips({ parent: document.body, position: "fixed" }),
      theme,
      EditorView.contentAttributes.of(() => this.attributes()),
      EditorView.updateListener.of((update) => this.changed(update)),
      EditorView.domEventHandlers({ blur: () => this.timer && this.push() }),
    ];
  }

  close() {
    if (this.timer) this.push();
    this.view.destroy();
  }
}

function render({ model, el }) {
  el.classList.add("memwb-code-editor"); // a host without ipywidgets, such as marimo, leaves out the classes of the widget
  const root = document.createElement("div");
  root.className = "mwc";
  const said = document.createElement("div");
  said.className = "mwc-said";
  said.setAttribute("role", "status");
  said.textContent = "Typed; the kernel has not looked at it yet.";
  said.hidden = true;
  el.append(root, said);
  const editor = new Editor(model, root, said);
  keepKeys(root);
  // An editor that was made to be typed in takes the focus when it is on the page, and not where it is only shown again.
  const laidOut = new ResizeObserver(() => {
    laidOut.disconnect();
    if (editor.bench && model.get("takes") > 0) editor.take();
  });
  laidOut.observe(root);
  const refresh = () => editor.view.dispatch({}); // the attributes are read anew
  const heard = {
    "change:documents": () => editor.pull(),
    "change:typed": () => editor.pull(),
    "change:document": () => editor.open(),
    "change:marks": () => editor.mark(),
    "change:labels": refresh,
    "change:takes": () => editor.take(),
  };
  for (const [event, action] of Object.entries(heard)) model.on(event, action);
  return () => {
    for (const [event, action] of Object.entries(heard)) model.off(event, action);
    laidOut.disconnect();
    editor.close();
    el.replaceChildren(); // a page may keep the element for good
  };
}

export default { render };
