// A table of any length: the kernel sorts, filters and cuts pages, the page shows the rows that are in view.
//
// `sheet` comes from the kernel: columns, number of rows and the first rows, under a version that grows. Further rows
// are asked for by message, one request at a time and the newest wish next, so that scrolling cannot flood the kernel.
import { keepKeys } from "../keys.js";
import { CutLine } from "./cutline.js";
import { Dialog } from "./dialog.js";
import { button, counted, make, newId, setAttribute } from "./dom.js";
import { Menu } from "./menu.js";
import { Table } from "./table.js";

const MARGIN = 20; // rows asked for above and below those in view
const PATIENCE = 10_000; // ms after which an answer is no longer waited for
const SLOW = 200; // ms before waiting shows

class Grid {
  constructor(model, root) {
    this.model = model;
    this.view = newId();
    this.request = 0;
    this.asked = null; // {request, time} while an answer is due
    this.anchor = 0;
    this.shownSheet = {};
    this.root = root;
    this.bar();
    this.frame = make("div", { class: "mwg-frame" });
    this.problem = make("div", { class: "mwg-problem", role: "alert", hidden: "" });
    this.empty = make("div", { class: "mwg-empty", hidden: "" });
    root.append(this.top, this.problem, this.frame);
    this.table = new Table(this.frame);
    this.frame.append(this.empty);
    this.table.tall = model.get("lines") > 1;
    this.table.linked = model.get("linked");
    this.scroller.style.setProperty("--mwg-lines", model.get("lines"));
    this.cut = new CutLine(
      this.frame,
      (y) => this.table.rowsAbove(y),
      (how) => model.send({ do: "cut", ...how }),
      () => this.revealCut(),
    );
    this.dialog = new Dialog(
      root,
      (id, column, offset) => model.send({ do: "cell", view: this.view, id, column, offset }),
      () => this.table.scroller.focus({ preventScroll: true }),
    );
    this.listen();
    this.relabel();
    this.resheet();
    this.reproblem();
    this.sized = new ResizeObserver(() => this.resized());
    this.sized.observe(this.table.scroller);
  }

  bar() {
    const { model } = this;
    this.filter = make("input", { type: "search", placeholder: "text in a row", spellcheck: "false" });
    this.filter.value = model.get("where");
    this.filterLabel = make("label", {}, "filter ", this.filter);
    this.filter.addEventListener("input", () => {
      clearTimeout(this.filtering);
      this.filtering = setTimeout(() => this.sendFilter(), model.get("pause") * 1000);
    });
    this.filter.addEventListener("keydown", (event) => event.key === "Enter" && this.sendFilter());
    this.status = make("span", { role: "status", class: "mwg-status" });
    this.clear = button("Clear the selection", "clear", () => this.select([]));
    const turn = (by) => () => {
      this.table.turnTo(this.table.sheet + by);
      this.settle();
    };
    this.back = button("Earlier rows", "◀", turn(-1));
    this.on = button("Later rows", "▶", turn(1));
    this.part = make("span");
    this.pager = make("span", { class: "mwg-pager" }, this.back, this.part, this.on);
    this.menu = new Menu((key, on) => {
      const order = model.get("offered").map((column) => column.key);
      const shown = new Set(model.get("shown"));
      on ? shown.add(key) : shown.delete(key);
      if (shown.size) this.save("shown", order.filter((one) => shown.has(one)));
      else this.menu.show(model.get("offered"), model.get("shown")); // the last column stays
    });
    this.top = make("div", { class: "mwg-top" }, this.filterLabel, this.status, this.clear, this.pager, this.menu.element);
    if (model.get("bar")) return;
    this.top.hidden = true; // the menu goes into the corner of the header row, where it is small
    this.menu.button.textContent = "▾";
    this.menu.button.title = "Columns";
    this.root.append(this.menu.element);
  }

  save(trait, value) {
    this.model.set(trait, value);
    this.model.save_changes();
  }

  sendFilter() {
    clearTimeout(this.filtering);
    this.filtering = 0;
    if (this.filter.value === this.model.get("where")) return;
    this.save("where", this.filter.value);
    this.wait();
  }

  // -- what the kernel says -------------------------------------------------------------------------------------------

  get sheet() {
    return this.model.get("sheet");
  }

  resheet() {
    const { sheet, table } = this;
    const before = this.shownSheet;
    this.shownSheet = sheet;
    this.done();
    if (table.total !== sheet.total) table.tops = null; // measured anew when the rows are there
    table.total = sheet.total;
    table.paintHead(sheet.columns, sheet.sort);
    const others = before.sort !== sheet.sort || before.where !== sheet.where || before.series !== sheet.series;
    if (others || table.base >= Math.max(1, sheet.total)) {
      table.base = 0;
      table.scroller.scrollTop = 0;
      table.active.row = Math.min(table.active.row, 0);
      this.anchor = 0;
    }
    table.active.row = Math.min(table.active.row, sheet.total - 1);
    table.active.column = Math.min(table.active.column, Math.max(0, sheet.columns.length - 1));
    this.placeCut();
    table.stretch();
    const [first] = table.visible();
    if (table.base === 0 && first <= sheet.rows.length) table.paint({ version: sheet.version, offset: 0, rows: sheet.rows }, this.selected);
    else table.page = { ...table.page, version: -1 }; // the old rows stay until the new ones are there
    this.menu.show(this.model.get("offered"), this.model.get("shown"));
    if (!this.filtering && document.activeElement !== this.filter) this.filter.value = sheet.where;
    this.empty.hidden = sheet.version === 0 || sheet.total > 0;
    this.empty.textContent = sheet.where ? `No ${this.model.get("noun")[0]} holds “${sheet.where}”.` : this.model.get("empty");
    this.tell();
    this.revealSelected();
    if (document.activeElement === this.cut.line) this.revealCut();
    this.settle();
    if (sheet.version === 0) this.wait();
  }

  relabel() {
    const { model, table } = this;
    table.scroller.setAttribute("aria-label", model.get("label"));
    setAttribute(table.scroller, "aria-multiselectable", model.get("multiple"));
    table.scroller.setAttribute(
      "aria-description",
      `Arrow keys move, up to the header; Enter opens ${model.get("opens") ? "an entry, Delete deletes it" : "a cell"}, or sorts by a column; ` +
        (model.get("multiple") ? "Space selects a row, Shift extends." : "Space chooses a row."),
    );
    this.filterLabel.hidden = !model.get("filterable");
    this.filter.setAttribute("aria-label", `Filter ${model.get("noun")[1]}`);
  }

  reproblem() {
    this.problem.textContent = this.model.get("problem");
    this.problem.hidden = !this.problem.textContent;
    this.asked = null;
    this.done();
  }

  heard(message) {
    if (message.do === "cell" && message.view === this.view) this.dialog.add(message);
    if (message.do !== "page" || message.view !== this.view || message.request !== this.asked?.request) return;
    this.asked = null;
    this.done();
    if (message.version === this.sheet.version) this.table.paint(message, this.selected);
    this.settle();
  }

  // -- rows in view ---------------------------------------------------------------------------------------------------

  // Ask for rows that are in view and not there, or soon will be.
  settle() {
    const { table, sheet } = this;
    this.placeCut();
    this.tellPart();
    if (this.asked && performance.now() - this.asked.time < PATIENCE) return; // asked again when the answer is there
    const [first, end] = table.visible();
    const { offset, rows, version } = table.page;
    const near = MARGIN / 2;
    const above = offset <= Math.max(table.base, first - near);
    const below = offset + rows.length >= Math.min(table.base + table.length, end + near);
    if (!sheet.total || (version === sheet.version && above && below)) return;
    const from = Math.max(table.base, first - MARGIN);
    this.asked = { request: ++this.request, time: performance.now() };
    const limit = Math.min(end + MARGIN, table.base + table.length) - from;
    this.model.send({ do: "page", view: this.view, request: this.request, version: sheet.version, offset: from, limit });
    this.wait();
  }

  wait() {
    this.waiting ??= setTimeout(() => this.root.classList.add("mwg-waiting"), SLOW);
  }

  done() {
    clearTimeout(this.waiting);
    this.waiting = undefined;
    this.root.classList.remove("mwg-waiting");
  }

  placeCut() {
    const cut = this.model.get("cut");
    const shown = cut.at !== undefined && !this.sheet.sort && this.sheet.total > 0;
    this.table.cutAt(shown ? cut.at : null);
    const top = this.table.cutTop;
    this.cut.place(top, this.table.sees(top), cut);
  }

  revealCut() {
    this.table.revealCut();
    this.placeCut();
  }

  // Where one row at most is chosen, another one than before comes into view. Only the table scrolls, not the notebook.
  revealSelected() {
    if (this.model.get("multiple") || !this.scroller.clientHeight) return;
    const [id] = this.selected;
    if (id === this.revealed) return;
    const place = this.table.placeOf(id);
    if (place >= 0) {
      this.table.reveal(place);
      this.table.active.row = place;
      this.table.mark(this.selected);
    }
    this.revealed = id;
    this.rest = this.scroller.scrollTop;
  }

  // What is chosen stays in view, and as much of what is above it as before.
  resized() {
    this.table.measure();
    if (!this.model.get("multiple")) {
      this.revealed = null;
      if (this.scroller.scrollTop === this.rest) this.scroller.scrollTop = 0; // else a person scrolled there
    }
    this.revealSelected();
    this.settle();
  }

  tell() {
    const { total, where } = this.sheet;
    const chosen = this.selected.length;
    const found = `${counted(total, this.model.get("noun"))}${where ? (total === 1 ? " matches" : " match") : ""}`;
    this.status.textContent = this.sheet.version === 0 ? "loading" : chosen ? `${found}, ${chosen.toLocaleString("en")} selected` : found;
    this.clear.hidden = !chosen;
  }

  tellPart() {
    const { table } = this;
    this.pager.hidden = table.sheets < 2;
    this.back.disabled = table.sheet === 0;
    this.on.disabled = table.sheet === table.sheets - 1;
    this.part.textContent = `rows ${(table.base + 1).toLocaleString("en")} to ${(table.base + table.length).toLocaleString("en")}`;
  }

  // -- a person's hands -----------------------------------------------------------------------------------------------

  get selected() {
    return this.model.get("selected");
  }

  select(ids) {
    this.save("selected", ids);
  }

  toggle(row, alone) {
    const id = this.table.entryAt(row);
    if (id === undefined) return;
    this.anchor = row;
    if (alone) return this.select([id]);
    if (!this.model.get("multiple")) return this.select(this.selected.includes(id) ? [] : [id]);
    this.select(this.selected.includes(id) ? this.selected.filter((one) => one !== id) : [...this.selected, id]);
  }

  // Rows between two places may never have been on the page: the kernel knows their ids.
  extend(to) {
    if (!this.model.get("multiple")) return;
    const [from, last] = [Math.min(this.anchor, to), Math.max(this.anchor, to)];
    this.model.send({ do: "range", version: this.sheet.version, from, to: last });
  }

  go(row, column) {
    const { table } = this;
    table.active.row = Math.min(Math.max(row, -1), table.total - 1);
    table.active.column = Math.min(Math.max(column, 0), table.columns.length - 1);
    table.reveal(table.active.row);
    table.mark(this.selected);
    this.scroller.querySelector(".mwg-active")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.point();
    this.settle();
  }

  // Tell the panes beside the table at which row the keyboard is, as pointing at it does.
  point(row = this.table.active.row) {
    if (!this.table.linked) return;
    const detail = row < 0 ? undefined : this.table.entryAt(row);
    this.root.dispatchEvent(new CustomEvent("memwb-point", { bubbles: true, detail }));
  }

  sortBy(column) {
    const by = this.table.columns[column]?.sort;
    if (!by) return;
    const next = { [by]: `-${by}`, [`-${by}`]: "" }[this.model.get("sort")] ?? by;
    this.save("sort", next);
    this.wait();
  }

  act(row, column) {
    if (row < 0) return this.sortBy(column);
    const id = this.table.entryAt(row);
    if (id === undefined) return;
    if (this.model.get("opens")) this.model.send({ do: "open", id });
    else this.dialog.open(id, this.table.columns[column]);
  }

  // The selected rows or, without any, the one where the keyboard is.
  remove(row) {
    const id = this.table.entryAt(row);
    const ids = this.selected.length ? this.selected : id === undefined ? [] : [id];
    if (ids.length) this.model.send({ do: "delete", ids });
  }

  get scroller() {
    return this.table.scroller;
  }

  listen() {
    let frame = 0;
    this.scroller.addEventListener("scroll", () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => this.settle());
    });
    this.scroller.addEventListener("mousedown", (event) => {
      if (event.shiftKey) event.preventDefault(); // no text selection across the rows
    });
    this.scroller.addEventListener("click", (event) => this.clicked(event));
    this.scroller.addEventListener("dblclick", (event) => {
      const cell = this.table.cellOf(event);
      if (cell && cell[0] >= 0) this.act(...cell);
    });
    this.scroller.addEventListener("keydown", (event) => this.pressed(event));
    this.scroller.addEventListener("blur", () => this.point(-1));
    keepKeys(this.root);
  }

  clicked(event) {
    const cell = this.table.cellOf(event);
    if (!cell) return;
    const [row, column] = cell;
    this.scroller.focus({ preventScroll: true });
    if (row >= 0 && event.detail > 1) return; // the cell opens
    this.table.active = { row, column };
    if (row < 0) this.sortBy(column);
    else if (event.shiftKey) this.extend(row);
    else this.toggle(row, !(event.ctrlKey || event.metaKey));
    this.table.mark(this.selected);
  }

  pressed(event) {
    const { active, total, fitting, columns } = this.table;
    const { row, column } = active;
    const accel = event.ctrlKey || event.metaKey;
    const moves = {
      ArrowDown: () => [row + 1, column],
      ArrowUp: () => [row - 1, column],
      ArrowRight: () => [row, column + 1],
      ArrowLeft: () => [row, column - 1],
      PageDown: () => [Math.max(row, 0) + fitting, column],
      PageUp: () => [Math.max(row - fitting, 0), column],
      Home: () => [accel ? 0 : row, 0],
      End: () => [accel ? total - 1 : row, columns.length - 1],
    };
    const move = moves[event.key];
    if (move) {
      this.go(...move());
      if (event.shiftKey && active.row >= 0 && active.row !== row) this.extend(active.row);
      else if (!event.shiftKey) this.anchor = Math.max(0, active.row);
    } else if (event.key === "Enter") this.act(row, column);
    else if (event.key === "Delete" && this.model.get("opens")) this.remove(row);
    else if (event.key === " " && row < 0) this.sortBy(column);
    else if (event.key === " ") event.shiftKey ? this.extend(row) : this.toggle(row, false);
    else if (event.key === "a" && accel) {
      this.anchor = 0;
      this.extend(total - 1);
    } else return;
    event.preventDefault();
  }

  close() {
    clearTimeout(this.filtering);
    this.done();
    this.sized.disconnect();
  }
}

function render({ model, el }) {
  el.classList.add("memwb-grid"); // a host without ipywidgets, such as marimo, leaves out the classes of the widget
  const root = make("div", { class: "mwg" });
  el.append(root);
  const grid = new Grid(model, root);
  const marked = () => {
    grid.table.mark(grid.selected);
    grid.revealSelected();
    grid.tell();
  };
  const heard = {
    "change:sheet": () => grid.resheet(),
    "change:offered": () => grid.menu.show(model.get("offered"), model.get("shown")),
    "change:selected": marked,
    "change:problem": () => grid.reproblem(),
    "change:label": () => grid.relabel(),
    "change:opens": () => grid.relabel(),
    "change:cut": () => grid.placeCut(),
    "msg:custom": (message) => grid.heard(message),
  };
  for (const [event, action] of Object.entries(heard)) model.on(event, action);
  return () => {
    for (const [event, action] of Object.entries(heard)) model.off(event, action);
    grid.close();
    el.replaceChildren(); // a page may keep the element for good
  };
}

export default { render };
