// The line between the rows that are kept and those that are cut: dragged, or moved by arrow keys.
import { make, setAttribute } from "./dom.js";

const STEPS = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 };

export class CutLine {
  // `rowAt(clientY)` gives how many rows lie above; `moved({to} or {by})` is told once, at the end.
  constructor(parent, rowAt, moved) {
    this.moved = moved;
    this.label = make("span");
    this.line = make("div", { class: "mwg-cut", role: "slider", tabindex: "0", "aria-orientation": "vertical", hidden: "" }, this.label);
    this.line.addEventListener("keydown", (event) => {
      const by = STEPS[event.key];
      if (!by) return;
      event.preventDefault();
      moved({ by });
    });
    this.line.addEventListener("pointerdown", (event) => this.drag(event, rowAt));
    parent.append(this.line);
  }

  drag(event, rowAt) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.line.focus();
    this.line.setPointerCapture(event.pointerId);
    const ended = new AbortController();
    const { signal } = ended;
    const start = event.clientY;
    const listen = (name, action) => this.line.addEventListener(name, action, { signal });
    const drop = () => {
      ended.abort();
      this.line.style.transform = "";
    };
    listen("pointermove", (at) => (this.line.style.transform = `translateY(${at.clientY - start}px)`));
    listen("pointercancel", drop);
    listen("pointerup", (at) => {
      drop();
      this.moved({ to: Math.max(1, rowAt(at.clientY)) });
    });
  }

  // `top` in px within the parent, null where the line is out of sight.
  place(top, { at, label, name } = {}) {
    this.line.hidden = top === null;
    if (top === null) return;
    this.line.style.top = `${top}px`;
    if (this.label.textContent !== label) this.label.textContent = label;
    setAttribute(this.line, "aria-label", name);
    setAttribute(this.line, "aria-valuenow", at);
    setAttribute(this.line, "aria-valuemin", 1);
    setAttribute(this.line, "aria-valuetext", label);
  }
}
