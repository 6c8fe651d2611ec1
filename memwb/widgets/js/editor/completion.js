// What can be typed next: attributes and keys of the callback's context (after "." and `["`, at once), and the names
// that the code can see (on request). Which they are, the kernel says; the syntax tree says what a variable stands for.
import { closeCompletion, selectedCompletion } from "@codemirror/autocomplete";
import { globalCompletion, localCompletionSource } from "@codemirror/lang-python";
import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";

const EXPRESSIONS = new Set(["VariableName", "MemberExpression", "CallExpression", "ParenthesizedExpression"]);
const PASSING = new Set(["reversed", "list", "tuple", "sorted", "iter"]); // what they return holds the same things
const DEPTH = 12;

// A kind of value: the name of what it is, and whether it is a list of these.
const single = (owner) => ({ owner, each: false });
const UNKNOWN = single("");

class Reader {
  constructor(state, at, items, document) {
    this.state = state;
    this.items = items;
    this.document = document;
    this.tree = ensureSyntaxTree(state, at, 50) ?? syntaxTree(state);
  }

  text(node) {
    return this.state.sliceDoc(node.from, node.to);
  }

  // The kind of the expression that ends at `at`.
  kindBefore(at) {
    let node = this.tree.resolveInner(at, -1);
    while (node.parent?.to === at && EXPRESSIONS.has(node.parent.name)) node = node.parent;
    return node.to === at ? this.kind(node, 0) : UNKNOWN;
  }

  kind(node, depth) {
    if (!node || depth > DEPTH) return UNKNOWN;
    if (node.name === "VariableName") return this.variable(node, depth + 1);
    if (node.name === "MemberExpression") return this.member(node, depth + 1);
    if (node.name === "ParenthesizedExpression") return this.kind(node.firstChild?.nextSibling, depth + 1);
    if (node.name === "CallExpression") return this.call(node, depth + 1);
    return UNKNOWN;
  }

  member(node, depth) {
    const object = node.firstChild;
    const inside = object?.nextSibling?.nextSibling; // after "." or "["
    const kind = this.kind(object, depth);
    if (!inside) return UNKNOWN;
    if (inside.name === "PropertyName") return this.item(kind, "attribute", this.text(inside));
    if (kind.each) return single(kind.owner);
    return inside.name === "String" ? this.item(kind, "key", this.text(inside).slice(1, -1)) : UNKNOWN;
  }

  call(node, depth) {
    const called = node.firstChild;
    const first = node.getChild("ArgList")?.firstChild?.nextSibling; // after "("
    if (called.name === "VariableName" && PASSING.has(this.text(called))) return this.kind(first, depth);
    if (called.name !== "MemberExpression" || first?.name !== "String") return UNKNOWN;
    const method = called.lastChild;
    if (method.name !== "PropertyName" || this.text(method) !== "get") return UNKNOWN;
    return this.item(this.kind(called.firstChild, depth), "key", this.text(first).slice(1, -1));
  }

  item({ owner, each }, kind, name) {
    const found = each ? null : this.items.find((item) => item.owner === owner && item.kind === kind && item.name === name);
    return found ? { owner: found.of, each: found.each } : UNKNOWN;
  }

  // The nearest place above that gives the variable a value decides; in a comprehension it may stand behind.
  variable(node, depth) {
    const name = this.text(node);
    let found = null;
    this.tree.iterate({
      enter: ({ node: other }) => {
        if (other.name !== "VariableName" || this.text(other) !== name) return;
        if (found && other.from > node.from) return;
        found = this.bound(other, depth) ?? found;
      },
    });
    return found ?? single(name);
  }

  bound(node, depth) {
    const [before, after] = [node.prevSibling, node.nextSibling];
    if (before?.name === "for" && after?.name === "in") {
      const kind = this.kind(after.nextSibling, depth);
      return kind.each ? single(kind.owner) : UNKNOWN;
    }
    if (after?.name === "AssignOp") return this.kind(after.nextSibling, depth);
    if (node.parent.name === "ParamList" && before?.name === "(") {
      const named = node.parent.parent.getChild("VariableName");
      return named && this.text(named) === this.document ? single("context") : null;
    }
    return null;
  }
}

const TYPES = { attribute: "property", key: "text", name: "variable" };
const MEMBER = /(?:\.|\[\s*["'])\w*/;

const option = ({ name, doc, kind, of, each }) => ({
  label: name,
  type: TYPES[kind],
  detail: of ? (each ? `list of ${of}` : of) : undefined,
  info: doc || undefined, // a text, which the editor sets as text
});

// `about()` gives the open document's name and its items.
export function sources(about) {
  const members = (context) => {
    const found = context.matchBefore(MEMBER);
    if (!found) return null;
    const { document, items } = about();
    const { owner, each } = new Reader(context.state, context.pos, items, document).kindBefore(found.from);
    const kind = found.text[0] === "." ? "attribute" : "key";
    const options = each ? [] : items.filter((item) => item.owner === owner && item.kind === kind).map(option);
    if (!options.length) return null;
    return { from: found.to - found.text.match(/\w*$/)[0].length, options, validFor: /^\w*$/ };
  };
  const names = (context) => {
    const word = context.matchBefore(/\w*/);
    const options = about().items.filter((item) => item.kind === "name").map(option);
    return options.length ? { from: word.from, options, validFor: /^\w*$/ } : null;
  };
  // Names only when asked for: a list that opens by itself would take the Enter that ends a line.
  const asked = (source) => (context) => (context.explicit && !context.matchBefore(MEMBER) ? source(context) : null);
  return [members, asked(names), asked(localCompletionSource), asked(globalCompletion)];
}

// Enter behind a word that is already complete ends the line, also while the list still shows that word.
export function passComplete(view) {
  const chosen = selectedCompletion(view.state);
  const { head } = view.state.selection.main;
  if (chosen && view.state.sliceDoc(Math.max(0, head - chosen.label.length), head) === chosen.label) closeCompletion(view);
  return false;
}
