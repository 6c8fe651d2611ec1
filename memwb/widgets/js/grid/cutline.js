// The line between the rows that are kept and those that are cut: dragged, or moved by arrow keys.
import { make, setAttribute } from "./dom.js";

const STEPS = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, PageUp: -5, PageDown: 5 };

export class CutLine {
  // `rowAt(clientY)` gives how many rows lie above; `moved({to} or {by})` is told once, at the end; `wanted()` when the
  // line has the focus and should be in sight.
  constructor(parent, rowAt, moved, wanted) {
    this.moved = moved;
    this.wanted = wanted;
    this.label = make("span");
    this.line = make("div", { class: "mwg-cut", role: "slider", tabindex: "0", "aria-orientation": "vertical", hidden: "" }, this.label);
    this.line.addEventListener("keydown", (event) => {
      const by = STEPS[event.key];
      if (!by) return;
      event.preventDefault();
      moved({ by });
    });
    this.line.addEventListener("pointerdown", (event) => this.drag(event, rowAt));
    this.line.addEventListener("focus", wanted);
    parent.append(this.line);
  }

  drag(event, rowAt) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.line.focus({ preventScroll: true });
    this.line.setPointerCapture(event.pointerId);
    const ended = new AbortController();
    const { signal } = ended;
    const start = event.clientY;
    const before = rowAt(start);
    const listen = (name, action) => this.line.addEventListener(name, action, { signal });
    const drop = () => {
      ended.abort();
      this.line.style.transform = "";
    };
    listen("pointermove", (at) => (this.line.style.transform = `translateY(${at.clientY - start}px)`));
    listen("pointercancel", drop);
    listen("pointerup", (at) => {
      drop();
      const above = rowAt(at.clientY); // a click is no drag, and neither is one that passes no row
      if (above !== before && Math.abs(at.clientY - start) > 4) this.moved({ to: Math.max(1, above) });
    });
  }

  // `top` in px within the parent, null where there is no line. One that is out of sight can still get the focus, and
  // comes into view with it.
  place(top, seen, { value, most, label, name } = {}) {
    this.line.hidden = top === null;
    if (top === null) return;
    this.line.classList.toggle("mwg-away", !seen);
    this.line.style.top = seen ? `${top}px` : "";
    if (this.label.textContent !== label) this.label.textContent = label;
    setAttribute(this.line, "aria-label", name);
    setAttribute(this.line, "aria-valuenow", value);
    setAttribute(this.line, "aria-valuemin", 1);
    setAttribute(this.line, "aria-valuemax", most);
    setAttribute(this.line, "aria-valuetext", label);
  }
}
