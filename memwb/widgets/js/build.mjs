// Bundles the editor and the grid, and collects the licences of what is in the bundles.
//
//   npm ci && npm run build           writes editor.js, grid.js and LICENSES.txt into ../static
//   node build.mjs DIRECTORY          writes them there instead; the same sources always give the same bytes
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = resolve(process.argv[2] ?? join(here, "..", "static"));

// Every widget loads its script as a module of its own, which a page keeps for as long as it is open. So a module makes
// what is in it when it is the first of its page, and else takes what that has made: an editor less is 2 MB less.
async function bundle(name) {
  const { metafile, outputFiles } = await build({
    absWorkingDir: here,
    entryPoints: [`${name}/index.js`],
    bundle: true,
    minify: true,
    charset: "ascii", // a text with other signs takes twice the memory on a page
    format: "iife",
    globalName: "made",
    target: "es2022",
    legalComments: "none", // they stand in LICENSES.txt
    metafile: true,
    write: false,
  });
  const built = outputFiles[0].text;
  const making = built.slice(built.indexOf("var made=") + "var made=".length).trim().replace(/;$/, "");
  const key = `memwb ${name} ${createHash("sha256").update(making).digest("hex").slice(0, 16)}`;
  const text =
    `// Built from memwb/widgets/js/${name}; the licences of what is in it are in LICENSES.txt.\n` +
    `export default (globalThis[${JSON.stringify(key)}]??=${making}).default;\n`;
  await writeFile(join(target, `${name}.js`), text);
  return Object.keys(metafile.inputs);
}

function packageOf(file) {
  const [, inside] = file.split(/^.*node_modules\//);
  if (!inside) return null;
  return inside.split("/").slice(0, inside.startsWith("@") ? 2 : 1).join("/");
}

async function licence(name) {
  const folder = join(here, "node_modules", name);
  const about = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  if (about.license !== "MIT") throw new Error(`${name} is under ${about.license}; only MIT is bundled so far.`);
  const [file] = (await readdir(folder)).filter((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file.`);
  const text = (await readFile(join(folder, file), "utf8")).replaceAll("\r\n", "\n").trim();
  return `${name} ${about.version} (${about.license})\n\n${text}\n`;
}

await mkdir(target, { recursive: true });
const files = (await Promise.all(["editor", "grid"].map(bundle))).flat();
const packages = [...new Set(files.map(packageOf).filter(Boolean))].sort();
const texts = await Promise.all(packages.map(licence));
const line = `\n${"-".repeat(72)}\n\n`;
const intro = "editor.js holds code of the following packages, each under the licence printed below its name.\n";
await writeFile(join(target, "LICENSES.txt"), [intro, ...texts].join(line));
