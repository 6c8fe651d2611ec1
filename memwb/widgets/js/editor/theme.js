// Colours are the host's: JupyterLab's variables, named in editor.css with fallbacks for hosts that have none.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const layout = EditorView.theme({
  "&": { height: "100%", color: "var(--mwc-fg)", backgroundColor: "var(--mwc-bg)", fontSize: "var(--mwc-size)" },
  "&.cm-focused": { outline: "none" }, // the frame around it shows the focus
  ".cm-scroller": { fontFamily: "var(--mwc-font)", lineHeight: "1.4", overflow: "auto" },
  ".cm-content": { caretColor: "var(--mwc-caret)", padding: "6px 0" },
  ".cm-line": { padding: "0 8px 0 4px" },
  ".cm-gutters": { backgroundColor: "var(--mwc-bg)", color: "var(--mwc-dim)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "22px", padding: "0 6px 0 4px" },
  ".cm-gutter-lint": { width: "16px" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "0 2px", display: "flex", alignItems: "center" },
  ".cm-lint-marker": { width: "12px", height: "12px" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--mwc-brand) 26%, transparent)" },
  "& ::selection, &.cm-focused ::selection": { backgroundColor: "var(--mwc-selection)" },
  ".cm-specialChar": { color: "var(--mwc-bad)" },
});

// The lists and notes float above the page, outside of the editor's own element.
const floating = EditorView.theme({
  "&.cm-tooltip, .cm-tooltip": {
    color: "var(--jp-ui-font-color1, CanvasText)",
    backgroundColor: "var(--jp-layout-color1, Canvas)",
    border: "1px solid var(--jp-border-color1, #8888)",
    borderRadius: "4px",
    boxShadow: "0 4px 14px rgb(0 0 0 / .25)",
    fontSize: "12px",
    zIndex: "10000",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    fontFamily: "var(--jp-code-font-family, ui-monospace, monospace)",
    maxHeight: "14em",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 8px 2px 4px", lineHeight: "1.4" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    color: "var(--jp-ui-font-color1, CanvasText)",
    backgroundColor: "color-mix(in srgb, var(--jp-brand-color1, #1976d2) 26%, transparent)",
  },
  ".cm-completionDetail": { color: "var(--jp-ui-font-color2, GrayText)", fontStyle: "normal" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600" },
  ".cm-tooltip.cm-completionInfo": { padding: "6px 8px", maxWidth: "320px", whiteSpace: "pre-wrap" },
  ".cm-diagnostic": { padding: "4px 8px", whiteSpace: "pre-wrap", overflowWrap: "anywhere" },
});

const colour = (name, ...tag) => ({ tag, color: `var(--mwc-${name})` });

const code = HighlightStyle.define([
  { ...colour("keyword", tags.keyword, tags.operatorKeyword, tags.controlKeyword), fontWeight: "bold" },
  colour("string", tags.string, tags.special(tags.string)),
  { ...colour("comment", tags.comment), fontStyle: "italic" },
  colour("number", tags.number),
  colour("atom", tags.bool, tags.null, tags.self),
  colour("def", tags.definition(tags.variableName), tags.function(tags.definition(tags.variableName))),
  colour("property", tags.propertyName),
  colour("operator", tags.operator),
  colour("meta", tags.meta),
]);

export const theme = [layout, floating, syntaxHighlighting(code)];
