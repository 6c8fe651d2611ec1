// Draws a tree of elements that the kernel describes. Every text is set as text, so nothing in it can run, load or
// be typeset. A new tree is patched into the old one: focus, scroll positions and open details stay.

const TAGS = new Set(
  ("div span p ul ol li table thead tbody tr th td pre code strong em mark small h3 h4 button section details summary " +
    "input select option kbd label textarea del ins svg line circle polyline text").split(" "),
);
const DRAWN = new Set(["svg", "line", "circle", "polyline", "text"]);

function make(node) {
  if (typeof node === "string") return document.createTextNode(node);
  const element = DRAWN.has(node.t)
    ? document.createElementNS("http://www.w3.org/2000/svg", node.t)
    : document.createElement(TAGS.has(node.t) ? node.t : "span");
  if (node.t === "button") element.type = "button";
  patch(element, node);
  return element;
}

function patch(element, node) {
  element.setAttribute("class", node.c || "");
  const wanted = node.a || {};
  for (const name of element.getAttributeNames()) {
    const ours = name === "class" || name === "style" || name === "type" || name === "open";
    if (!ours && !(name in wanted)) element.removeAttribute(name);
  }
  for (const [name, value] of Object.entries(wanted)) {
    if (name === "style-width") element.style.width = value;
    else if (name === "value") {
      // What a person is typing is never overwritten by an answer to an earlier keystroke.
      // What is written in a form stays until the kernel has another text for the field.
      const written = element.localName === "textarea";
      if (written ? element.memwbGiven !== value : element !== element.getRootNode().activeElement) element.value = value;
      element.memwbGiven = value;
    } else if (name === "open") {
      if (!element.memwbOpened) element.open = element.memwbOpened = true; // once: then it is the reader's
    } else if (name === "selected") {
      if (!element.closest(".memwb-writing")) element.selected = true; // in a form the choice is the writer's
      else if (element.memwbGiven !== wanted.value) element.selected = true;
      element.memwbGiven = wanted.value;
    }
    else if (!name.startsWith("on") && element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
  element.memwb = node.m;
  patchChildren(element, node.k || []);
}

// A child with a key keeps its element wherever it moves; one without is patched in its place.
function patchChildren(element, children) {
  const keyed = new Map();
  for (const old of element.children) if (old.dataset.key !== undefined) keyed.set(old.dataset.key, old);
  let at = element.firstChild;
  for (const child of children) {
    const old = reusable(child, at, keyed);
    if (old && old !== at) element.insertBefore(old, at);
    else if (old) at = at.nextSibling;
    if (!old) element.insertBefore(make(child), at);
    else if (typeof child !== "string") patch(old, child);
    else if (old.data !== child) old.data = child;
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function reusable(child, at, keyed) {
  if (typeof child === "string") return at?.nodeType === Node.TEXT_NODE ? at : null;
  const key = child.a?.["data-key"];
  const old = key === undefined ? at : keyed.get(key);
  keyed.delete(key);
  return old && old.localName === child.t && old.dataset.key === key ? old : null;
}

const reachable = (root) => [...root.querySelectorAll("button:enabled, input:enabled, textarea, summary, [tabindex='0']")];

// An element that moved within its parent has lost the focus. What took the place of one that is gone gets it, so that
// who decides on one row after another by the keyboard stays among them.
function keepFocus(root, draw) {
  const focused = root.contains(document.activeElement) ? document.activeElement : null;
  const place = focused ? reachable(root).indexOf(focused) : -1;
  draw();
  if (!focused || focused === document.activeElement) return;
  const left = reachable(root);
  const wanted = root.contains(focused) ? focused : left[Math.min(place, left.length - 1)];
  wanted?.focus({ preventScroll: true });
}

// An element that the kernel names takes the keyboard, once for each number, unless one works outside the workbench.
function takeFocus(root, taken) {
  const wanted = root.querySelector("[data-take]");
  if (!wanted || wanted.dataset.take === taken) return taken;
  const at = document.activeElement;
  if (at === document.body || root.closest(".memwb-bench")?.contains(at)) {
    for (let up = wanted.parentElement; up && up !== root; up = up.parentElement) if (up.localName === "details") up.open = true;
    wanted.focus({ preventScroll: true });
    requestAnimationFrame(() => scrollTo(wanted));
  }
  return wanted.dataset.take;
}

// What is written in the form around an element, by the names of its fields.
function written(element) {
  const fields = element.closest(".memwb-writing")?.querySelectorAll("[data-field]") ?? [];
  return Object.fromEntries([...fields].map((each) => [each.dataset.field, each.value]));
}

// What the pane is about (the chosen hit, the last message) is scrolled to when it is another one than before. Only the
// pane scrolls, never the notebook.
function bringIntoView(root, seen) {
  const wanted = [...root.querySelectorAll("[data-view]")];
  const view = wanted.map((each) => each.dataset.view).join("\n");
  if (view !== seen) requestAnimationFrame(() => wanted.forEach(scrollTo));
  return view;
}

function scrollTo(wanted) {
  const pane = wanted.closest(".memwb-scroll");
  if (!pane) return;
  const inside = pane.getBoundingClientRect();
  const box = wanted.getBoundingClientRect();
  if (box.bottom > inside.bottom) pane.scrollTop += box.bottom - inside.bottom + 6;
  else if (box.top < inside.top) pane.scrollTop += box.top - inside.top - 6;
  if (box.right > inside.right) pane.scrollLeft += box.right - inside.right + 6;
}

// Pointing at a line of the block marks its hit, and the other way round.
function link(bench, key, on) {
  for (const each of bench.querySelectorAll("[data-link]")) if (each.dataset.link === key) each.classList.toggle("memwb-linked", on);
}

async function copy(text, root) {
  let copied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // no clipboard on a page that is not served securely: the old way, by a selection
    const holder = document.createElement("textarea");
    holder.value = text;
    root.append(holder);
    holder.select();
    copied = document.execCommand("copy");
    holder.remove();
  }
  const button = root.querySelector(".memwb-copy");
  if (!button) return;
  button.textContent = copied ? "copied" : "copying is not allowed";
  setTimeout(() => { button.textContent = "copy"; }, 1500);
}

// Of the lines of a list Tab reaches one, and the arrow keys go from there; Tab comes back to where one was.
const LINE = "[role='listitem'][tabindex]";
function rove(event) {
  const here = event.target.closest?.(LINE);
  if (!here || event.ctrlKey || event.metaKey || event.altKey) return false;
  const lines = [...here.parentElement.children].filter((each) => each.matches(LINE));
  const at = lines.indexOf(here);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1 }[event.key];
  if (to === undefined) return false;
  event.preventDefault();
  const line = lines[Math.max(0, Math.min(to, lines.length - 1))];
  here.tabIndex = -1;
  line.tabIndex = 0;
  line.focus({ preventScroll: true });
  scrollTo(line);
  return true;
}

function owner(event, root) {
  for (let at = event.target; at && at !== root; at = at.parentElement) if (at.memwb) return at;
  return null;
}

// What a person does anywhere in the workbench, whichever widget it is in. Keys typed there are its own: "d d" must not
// delete the notebook's cell, Escape must not leave for command mode, Ctrl + Enter must not run the cell again. Other keys
// with Ctrl or Cmd, such as saving, still reach the notebook.
const OWN = /^(Enter|[aA]|Arrow.*|Home|End)$/;

// Notebook 7 hears keys before any element of the page does, but runs no command for what is typed in an element that
// itself has this attribute. One listener serves all widgets of the page; ../js/keys.js has the same.
function shield() {
  if (window.memwbShield) return;
  window.memwbShield = true;
  window.addEventListener("keydown", (event) => {
    if (!event.target.closest?.(".memwb-bench, .mwg, .mwc")) return;
    event.target.toggleAttribute("data-lm-suppress-shortcuts", !(event.ctrlKey || event.metaKey) || OWN.test(event.key));
  }, true);
}

function listen(root) {
  shield();
  const bench = root.closest(".memwb-bench");
  if (!bench || bench.dataset.keys) return;
  bench.dataset.keys = "kept";
  bench.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || OWN.test(event.key) || event.defaultPrevented) event.stopPropagation();
  });
  const point = (event, on) => {
    const key = event.target.closest?.("[data-link]")?.dataset.link;
    if (key !== undefined) link(bench, key, on);
  };
  bench.addEventListener("pointerover", (event) => point(event, true));
  bench.addEventListener("pointerout", (event) => point(event, false));
  bench.addEventListener("focusin", (event) => point(event, true));
  bench.addEventListener("focusout", (event) => point(event, false));
  let pointed;
  bench.addEventListener("memwb-point", (event) => { // by the keyboard, in a table
    if (pointed !== undefined) link(bench, pointed, false);
    pointed = event.detail ?? undefined;
    if (pointed !== undefined) link(bench, pointed, true);
  });
}

function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "memwb-view";
  el.append(root);
  const send = (message) => model.send(message);
  let seen;
  let taken;
  const draw = () => {
    keepFocus(root, () => patchChildren(root, [model.get("tree")]));
    taken = takeFocus(root, taken);
    seen = bringIntoView(root, seen);
  };
  draw();
  taken = root.querySelector("[data-take]")?.dataset.take; // a page that opens later takes nothing
  const sized = new ResizeObserver(() => { // the first time when it is on the page
    listen(root);
    root.querySelectorAll("[data-view]").forEach(scrollTo);
  });
  sized.observe(root);
  model.on("change:tree", draw);
  const said = (message) => { if (message.copy !== undefined) copy(message.copy, root); };
  model.on("msg:custom", said);

  root.addEventListener("click", (event) => {
    const target = owner(event, root);
    if (!target || ["INPUT", "SELECT"].includes(target.tagName) || target.ariaDisabled === "true") return;
    send(target.memwb.form ? { ...target.memwb, values: written(target) } : target.memwb);
  });
  root.addEventListener("input", (event) => {
    const target = owner(event, root);
    if (target?.tagName === "SELECT") send({ ...target.memwb, value: target.value });
    if (target?.tagName === "INPUT" && !target.memwb.enter) send({ ...target.memwb, value: target.value });
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && root.querySelector(".memwb-popover")) return send({ do: "why" });
    const form = event.target.closest(".memwb-writing");
    const saves = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    if (form && !event.isComposing && (saves || event.key === "Escape")) {
      event.preventDefault();
      return form.querySelector(saves ? ".memwb-save" : ".memwb-cancel")?.click();
    }
    if (rove(event)) return;
    const target = owner(event, root);
    if (!target) return;
    if (target.tagName === "SELECT") return; // its keys are the browser's
    if (target.role === "tab" && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      target[event.key === "ArrowLeft" ? "previousElementSibling" : "nextElementSibling"]?.focus();
    } else if (target.tagName === "INPUT") {
      if (event.key === "Enter" && target.memwb.enter) send({ ...target.memwb, value: target.value });
    } else if (target.tagName !== "BUTTON" && target.tagName !== "SUMMARY" && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      send(target.memwb);
    }
  });
  // A click anywhere else closes the popover, so that it never covers what is opened next.
  const away = (event) => {
    if (root.querySelector(".memwb-popover") && !root.contains(event.target)) send({ do: "why" });
  };
  document.addEventListener("pointerdown", away);
  return () => {
    document.removeEventListener("pointerdown", away);
    sized.disconnect();
    model.off("change:tree", draw);
    model.off("msg:custom", said);
    el.replaceChildren(); // a page may keep the element for good
  };
}

export default { render };
