import { posix } from 'node:path';

/** What each file imports, by paths relative to the folder that is measured. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

/** Front doors and mains only put together what stands in other folders: they make no folder depend on another. */
const ASSEMBLES = /(?:^|\/)(?:index|main|mod)\.[mc]?tsx?$/;

/** The graph of files, from relative imports as they are written: with `.ts`, `.js` or no ending, of a file or a folder. */
export function graphOfFiles(
  files: readonly { readonly path: string; readonly imports: readonly string[] }[],
): ImportGraph {
  const known = new Set(files.map(({ path }) => path));
  return new Map(
    files.map(({ path, imports }) => {
      const found = imports.map((name) => resolve(posix.join(posix.dirname(path), name), known));
      return [path, new Set(found.filter((name) => name !== undefined))];
    }),
  );
}

/** The graph of the folders that hold these files. */
export function graphOfFolders(files: ImportGraph): ImportGraph {
  const folders = new Map<string, Set<string>>();
  for (const [path, imports] of files) {
    const folder = posix.dirname(path);
    const targets = folders.get(folder) ?? new Set<string>();
    folders.set(folder, targets);
    if (ASSEMBLES.test(path)) continue;
    for (const target of imports) if (posix.dirname(target) !== folder) targets.add(posix.dirname(target));
  }
  return folders;
}

/** The groups of nodes that reach each other, each sorted: Tarjan's strongly connected components with two members or more. */
export function cyclesOf(graph: ImportGraph): readonly (readonly string[])[] {
  const search = new Search(graph);
  for (const node of graph.keys()) search.visit(node);
  return search.cycles;
}

class Search {
  readonly cycles: string[][] = [];
  readonly #graph: ImportGraph;
  readonly #order = new Map<string, number>();
  readonly #stack: string[] = [];

  constructor(graph: ImportGraph) {
    this.#graph = graph;
  }

  /** Visits a node once; returns the place in the order of the earliest open node that it reaches. */
  visit(node: string): number {
    const known = this.#order.get(node);
    if (known !== undefined) return this.#stack.includes(node) ? known : Number.POSITIVE_INFINITY;
    const own = this.#order.size;
    this.#order.set(node, own);
    this.#stack.push(node);
    let earliest = own;
    for (const target of this.#graph.get(node) ?? []) earliest = Math.min(earliest, this.visit(target));
    if (earliest === own) this.#close(node);
    return earliest;
  }

  #close(node: string): void {
    const members = this.#stack.splice(this.#stack.indexOf(node));
    if (members.length > 1) this.cycles.push(members.toSorted());
  }
}

function resolve(path: string, known: ReadonlySet<string>): string | undefined {
  const bare = path.replace(/\.([mc]?)jsx?$/, '');
  const candidates = [
    path,
    ...['.ts', '.tsx', '.mts', '.cts', '/index.ts', '/index.tsx'].map((ending) => `${bare}${ending}`),
  ];
  return candidates.find((candidate) => known.has(candidate));
}
