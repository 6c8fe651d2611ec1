// The menu of columns: the grid's own, and one for each metadata key that was seen.
import { button, make } from "./dom.js";

export class Menu {
  constructor(choose) {
    this.choose = choose;
    // It can be focused, so that a click on a label's text leaves the focus inside and the menu open.
    this.list = make("div", { class: "mwg-menu", role: "group", "aria-label": "Columns", tabindex: "-1", hidden: "" });
    this.button = button("Columns", "columns ▾", () => this.toggle(), { "aria-expanded": "false" });
    this.element = make("span", { class: "mwg-columns" }, this.button, this.list);
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.list.hidden) return;
      event.preventDefault();
      this.toggle(false);
      this.button.focus();
    });
    this.element.addEventListener("focusout", (event) => {
      if (!this.element.contains(event.relatedTarget)) this.toggle(false);
    });
  }

  toggle(open = this.list.hidden) {
    this.list.hidden = !open;
    this.button.setAttribute("aria-expanded", open);
    if (open) this.list.querySelector("input")?.focus();
  }

  show(offered, shown) {
    const focused = this.list.contains(document.activeElement) && document.activeElement.value;
    if (focused) this.list.focus({ preventScroll: true }); // what has the focus is about to go, and the menu would close
    this.list.replaceChildren(
      ...offered.map(({ key, title }) => {
        const box = make("input", { type: "checkbox", value: key });
        box.checked = shown.includes(key);
        box.addEventListener("change", () => this.choose(key, box.checked));
        return make("label", {}, box, title);
      }),
    );
    if (focused) [...this.list.querySelectorAll("input")].find((box) => box.value === focused)?.focus();
    this.button.hidden = offered.length < 2;
  }
}
