// The rows on the page: about 60 elements in a scroll range as high as all rows, rebuilt only for a new page of rows.
// A table that is all on the page may be tall: its rows are then as high as their text, up to a few lines.
import { contentOf } from "./cells.js";
import { make, newId, setAttribute } from "./dom.js";

export const ROW = 24; // px
export const HEAD = 26; // px
const BAND = 20; // px that the cut line has for itself between two rows
const SHEET = 700_000; // rows in one scroll range: browsers end an element at 17.8 (Firefox) or 33.5 million px

export class Table {
  constructor(parent) {
    this.id = newId();
    this.columns = [];
    this.total = 0;
    this.base = 0; // the first row of the scroll range
    this.page = { version: -1, offset: 0, rows: [] };
    this.tops = null; // of a tall table: where each row begins, and the last one ends, without the cut line's band
    this.active = { row: 0, column: 0 }; // row -1 is the header
    this.cut = null; // how many rows lie above the cut line
    this.tall = false; // whether rows may be higher than a line
    this.linked = false; // whether other panes point at rows by their ids
    this.head = make("div", { class: "mwg-row mwg-head", role: "row", "aria-rowindex": "1" });
    this.rows = make("div", { class: "mwg-rows", role: "presentation" });
    this.body = make("div", { class: "mwg-body", role: "rowgroup" }, this.rows);
    this.scroller = make(
      "div",
      { class: "mwg-scroll", role: "grid", tabindex: "0" },
      make("div", { class: "mwg-sticky", role: "rowgroup" }, this.head),
      this.body,
    );
    parent.append(this.scroller);
  }

  // -- geometry -------------------------------------------------------------------------------------------------------

  get length() {
    return Math.min(SHEET, this.total - this.base);
  }

  get sheets() {
    return Math.max(1, Math.ceil(this.total / SHEET));
  }

  get sheet() {
    return this.base / SHEET;
  }

  // How many rows fit into view.
  get fitting() {
    const high = this.tops ? this.tops.at(-1) / this.total : ROW;
    return Math.max(1, Math.floor((this.scroller.clientHeight - HEAD) / high));
  }

  // The first row in view, and the one behind the last.
  visible() {
    if (this.tops) return [0, this.total];
    const first = this.base + Math.floor(this.scroller.scrollTop / ROW);
    return [first, Math.min(this.total, first + this.fitting + 2)];
  }

  // Where a row begins, in px from the first one.
  topOf(row) {
    return this.startOf(row) + (this.cut !== null && row >= this.cut ? BAND : 0);
  }

  // The same without the cut line's band.
  startOf(row) {
    return this.tops ? this.tops[row] : (row - this.base) * ROW;
  }

  heightOf(row) {
    return this.startOf(row + 1) - this.startOf(row);
  }

  // How many rows lie above a place on the screen.
  rowsAbove(clientY) {
    const top = clientY - this.scroller.getBoundingClientRect().top - HEAD + this.scroller.scrollTop;
    const y = this.cut !== null && top > this.topOf(this.cut) ? top - BAND : top;
    if (this.tops) return this.tops.slice(0, -1).filter((start, row) => start + this.heightOf(row) / 2 < y).length;
    return Math.min(this.total, this.base + Math.round(y / ROW));
  }

  // The middle of the cut line's band within the scroller, which may be out of sight; null where there is none.
  get cutTop() {
    if (this.cut === null || this.cut < this.base) return null;
    return HEAD + this.topOf(this.cut) - BAND / 2 - this.scroller.scrollTop;
  }

  sees(top) {
    return top > HEAD && top < this.scroller.clientHeight;
  }

  // Bring the cut line into view.
  revealCut() {
    const top = this.cutTop;
    if (top === null) return;
    const least = HEAD + BAND / 2;
    const most = this.scroller.clientHeight - BAND / 2;
    if (top < least) this.scroller.scrollTop += top - least;
    else if (top > most) this.scroller.scrollTop += top - most;
  }

  turnTo(sheet) {
    this.base = Math.min(Math.max(0, sheet), this.sheets - 1) * SHEET;
    this.scroller.scrollTop = 0;
    this.stretch();
  }

  // Bring a row into view, in another scroll range where it lies there.
  reveal(row) {
    if (row < 0) return;
    const base = Math.floor(row / SHEET) * SHEET;
    if (base !== this.base) this.turnTo(base / SHEET);
    const top = this.topOf(row);
    const room = this.scroller.clientHeight - HEAD;
    const bottom = top + this.heightOf(row);
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (bottom > this.scroller.scrollTop + room) this.scroller.scrollTop = bottom - room;
  }

  // -- painting -------------------------------------------------------------------------------------------------------

  stretch() {
    this.body.style.height = `${this.topOf(this.base + this.length)}px`;
    setAttribute(this.scroller, "aria-rowcount", this.total + 1);
    setAttribute(this.scroller, "aria-colcount", this.columns.length);
  }

  paintHead(columns, sort) {
    this.columns = columns;
    const tracks = columns.map(({ width, grow }) => (grow ? `minmax(${width}px, ${grow}fr)` : `${width}px`));
    this.scroller.style.setProperty("--mwg-tracks", tracks.join(" "));
    this.scroller.style.setProperty("--mwg-least", `${columns.reduce((sum, { width }) => sum + width, 0)}px`);
    this.head.replaceChildren(
      ...columns.map(({ title, kind, sort: by }, at) => {
        const order = by && sort === by ? "ascending" : by && sort === `-${by}` ? "descending" : by ? "none" : null;
        const sign = { ascending: " ▲", descending: " ▼" }[order];
        return make(
          "div",
          { class: `mwg-cell mwg-${kind}`, role: "columnheader", "aria-colindex": at + 1, "aria-sort": order, id: this.idOf(-1, at) },
          title,
          ...(sign ? [make("span", { "aria-hidden": "true" }, sign)] : []),
        );
      }),
    );
  }

  paint(page, selected) {
    this.page = page;
    this.rows.replaceChildren(...page.rows.map((row, at) => this.row(row, page.offset + at)));
    this.measure();
    this.mark(selected);
  }

  // Rows of a tall table are as high as the page makes them, which depends on its width.
  measure() {
    const { rows } = this.page;
    const tall = this.tall && rows.length > 0 && rows.length === this.total;
    this.scroller.classList.toggle("mwg-tall", tall);
    this.tops = null;
    if (tall) {
      this.tops = [0];
      for (const row of this.rows.children) this.tops.push(this.tops.at(-1) + row.offsetHeight);
    }
    this.place();
  }

  place() {
    const { offset } = this.page;
    this.stretch();
    this.rows.style.transform = `translateY(${this.topOf(offset)}px)`;
    for (const row of this.rows.querySelectorAll(".mwg-below")) row.classList.remove("mwg-below");
    if (this.cut !== null && this.cut > offset) this.rows.children[this.cut - offset]?.classList.add("mwg-below");
  }

  // Make room for the cut line below so many rows, null for none.
  cutAt(rows) {
    const cut = rows === null ? null : Math.min(rows, this.total);
    if (cut === this.cut) return;
    this.cut = cut;
    this.place();
  }

  row([id, kind, ...cells], place) {
    const kinds = kind ? kind.split(" ").map((one) => ` mwg-${one}`) : [];
    const row = make("div", { class: `mwg-row${kinds.join("")}`, role: "row", "aria-rowindex": place + 2 });
    row.dataset.id = id;
    if (this.linked) row.dataset.link = id;
    row.append(
      ...cells.map((cell, at) =>
        make(
          "div",
          { class: `mwg-cell mwg-${this.columns[at].kind}`, role: "gridcell", "aria-colindex": at + 1, id: this.idOf(place, at) },
          ...contentOf(cell),
        ),
      ),
    );
    return row;
  }

  // Selection and active cell change attributes only: rows that are rebuilt between two clicks lose the double click.
  mark(selected) {
    const chosen = new Set(selected);
    for (const row of this.rows.children) setAttribute(row, "aria-selected", chosen.has(row.dataset.id));
    this.scroller.querySelector(".mwg-active")?.classList.remove("mwg-active");
    const id = this.idOf(this.active.row, this.active.column);
    const cell = this.scroller.querySelector(`#${id}`);
    cell?.classList.add("mwg-active");
    setAttribute(this.scroller, "aria-activedescendant", cell ? id : null);
  }

  idOf(row, column) {
    return `${this.id}-${row < 0 ? "head" : row}-${column}`;
  }

  // -- reading --------------------------------------------------------------------------------------------------------

  // The id of the entry in a row, where that row is on the page.
  entryAt(row) {
    return this.page.rows[row - this.page.offset]?.[0];
  }

  // The row of an id, -1 where it is not on the page.
  placeOf(id) {
    const at = this.page.rows.findIndex(([one]) => one === id);
    return at < 0 ? -1 : this.page.offset + at;
  }

  // Which cell an event is about: [row, column], row -1 in the header; null for none.
  cellOf(event) {
    const cell = event.target.closest?.("[role=gridcell], [role=columnheader]");
    if (!cell || !this.scroller.contains(cell)) return null;
    return [Number(cell.parentNode.getAttribute("aria-rowindex")) - 2, Number(cell.getAttribute("aria-colindex")) - 1];
  }
}
