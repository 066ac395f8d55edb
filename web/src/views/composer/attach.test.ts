import { describe, expect, test } from "vitest";
import { attachFiles, filesIn, filesOfFolder } from "./attach";

/** A folder as a browser hands it over when it is dropped: a few entries at a time. */
function folder(name: string, children: FileSystemEntry[]): FileSystemEntry {
  let rest = [...children];
  const createReader = () => ({
    readEntries: (take: (entries: FileSystemEntry[]) => void) => {
      take(rest.slice(0, 2));
      rest = rest.slice(2);
    },
  });
  return { name, isDirectory: true, isFile: false, createReader } as never;
}

function file(path: string): FileSystemEntry {
  const name = path.split("/").at(-1) ?? "";
  return { name, fullPath: path, isDirectory: false, isFile: true, file: (take: (file: File) => void) => take(new File(["text"], name)) } as never;
}

const dropped = (...entries: FileSystemEntry[]) =>
  filesIn({ items: entries.map((entry) => ({ kind: "file", webkitGetAsEntry: () => entry })), files: [] } as never);

describe("a folder that is dropped", () => {
  test("comes as its files, under their paths, without what belongs to programs", async () => {
    const inner = folder("soups", [file("/menu/soups/leek.md")]);
    const all = dropped(folder("menu", [file("/menu/c.md"), file("/menu/a.md"), inner, folder(".git", [file("/menu/.git/config")])]), file("/other.txt"));
    expect(all.count).toBe(2);
    expect((await all.files).map(({ name }) => name)).toEqual(["other.txt", "menu/a.md", "menu/c.md", "menu/soups/leek.md"]);
  });

  test("ends, however many folders are in it", async () => {
    const endless = (): FileSystemEntry => ({ name: "deep", isDirectory: true, createReader: () => ({ readEntries: (take: (entries: FileSystemEntry[]) => void) => take([endless(), endless()]) }) }) as never;
    expect(await dropped(endless()).files).toEqual([]);
  });
});

test("of very many files the first hundred are attached, and that is said", async () => {
  const many = Array.from({ length: 150 }, (_, at) => Object.assign(new File(["x"], `${at}.txt`), { webkitRelativePath: `menu/${at}.txt` }));
  const { added, problems } = await attachFiles(many);
  expect([added.length, problems]).toEqual([100, ["Only the first 100 files were attached."]]);
  expect(filesOfFolder(many).map(({ name }) => name).slice(99)).toEqual(["menu/99.txt", "menu/100.txt"]);
});
