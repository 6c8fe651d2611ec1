// A cell as the kernel sends it: a text; null for nothing; or {t: text, s: parts, q: quiet text, b: bar, m: left out}.
import { make } from "./dom.js";

// One line: a line break is shown as a sign, everything else as it was typed.
function line(text) {
  const parts = text.split(/\r\n|\n/).flatMap((part, at) => (at ? [make("i", {}, "↵"), part] : [part]));
  return parts.filter((part) => part !== "");
}

// How a part of a text is set: as it is, marked, faintly marked, as a good sign, as a warning.
const PARTS = [null, ["mark", "mwg-mark"], ["mark", "mwg-weak"], ["span", "mwg-good"], ["span", "mwg-warning"]];

function part([text, how]) {
  if (!how) return line(text);
  const [tag, name] = PARTS[how];
  return [make(tag, { class: name }, ...line(text))];
}

export function contentOf(cell) {
  if (cell === null) return [];
  if (typeof cell === "string") return line(cell);
  const parts = [];
  if (cell.b !== undefined) {
    const bar = make("span", { class: "mwg-bar" });
    bar.style.width = `${Math.round(cell.b * 100)}%`;
    parts.push(make("span", { class: "mwg-track", "aria-hidden": "true" }, bar));
  }
  if (cell.q !== undefined) parts.push(make("em", {}, cell.q));
  if (cell.t !== undefined) parts.push(...line(cell.t));
  for (const one of cell.s ?? []) parts.push(...part(one));
  if (cell.m) parts.push(make("small", {}, `… +${cell.m.toLocaleString("en")}`));
  return parts;
}
