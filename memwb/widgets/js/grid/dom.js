// Elements are made here, and every text is set as text: what is stored is never parsed as markup.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
  element.append(...children); // texts become text nodes
  return element;
}

export const button = (label, text, action, attributes = {}) => {
  const element = make("button", { type: "button", "aria-label": label, ...attributes }, text);
  element.addEventListener("click", action);
  return element;
};

export function setAttribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

// Every widget loads this file anew, so a count would repeat itself.
export const newId = () => `memwb-grid-${Math.random().toString(36).slice(2, 12)}`;

export const counted = (number, [one, many]) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
