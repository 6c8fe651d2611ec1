// The whole of one cell, fetched from the kernel piece by piece.
import { button, make } from "./dom.js";

export class Dialog {
  // `more(id, column, offset)` asks for a piece; `closed()` is told when the dialog goes.
  constructor(parent, more, closed) {
    this.more = more;
    this.closed = closed;
    this.title = make("strong");
    this.size = make("span", { class: "mwg-dim" });
    this.text = make("pre", { tabindex: "0" });
    this.next = button("Show more", "more", () => this.ask());
    const head = make("div", { class: "mwg-dialog-head" }, this.title, this.size, this.next, button("Close", "✕", () => this.close()));
    this.box = make("div", { class: "mwg-dialog", role: "dialog", hidden: "" }, head, this.text);
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      this.close();
    });
    parent.append(this.box);
  }

  get shown() {
    return !this.box.hidden;
  }

  open(id, { key, title }) {
    this.place = { id, column: key };
    this.box.setAttribute("aria-label", `${title}, the whole cell`);
    this.title.textContent = title;
    this.size.textContent = "";
    this.text.replaceChildren();
    this.next.hidden = true;
    this.box.hidden = false;
    this.text.focus({ preventScroll: true });
    this.length = 0;
    this.ask();
  }

  ask() {
    this.more(this.place.id, this.place.column, this.length);
  }

  add({ id, column, offset, text, end, total }) {
    if (!this.shown || id !== this.place.id || column !== this.place.column || offset !== this.length) return;
    this.text.append(text);
    this.length = end;
    const shown = end < total ? `${end.toLocaleString("en")} of ` : "";
    this.size.textContent = `${shown}${total.toLocaleString("en")} characters`;
    this.next.hidden = end >= total;
  }

  close() {
    if (!this.shown) return;
    this.box.hidden = true;
    this.closed();
  }
}
