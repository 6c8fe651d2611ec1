// A cell as the kernel sends it: a text; null for nothing; or {t: text, s: parts, q: quiet text, b: bar, m: left out}.
import { make } from "./dom.js";

// One line: a line break is shown as a sign, everything else as it was typed.
function line(text) {
  const parts = text.split(/\r\n|\n/).flatMap((part, at) => (at ? [make("i", {}, "↵"), part] : [part]));
  return parts.filter((part) => part !== "");
}

const MARKS = [null, "mwg-mark", "mwg-weak"];

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
  for (const [text, mark] of cell.s ?? []) parts.push(...(mark ? [make("mark", { class: MARKS[mark] }, text)] : line(text)));
  if (cell.m) parts.push(make("small", {}, `… +${cell.m.toLocaleString("en")}`));
  return parts;
}
