import type { Fault } from './fault.ts';

/** A label or annotation of ours on an object of the API (`gantry.dev/name`), or a label on a container (`gantry.name`). */
const NAME = /['`"]((?:[a-z]+\.)?gantry\.dev\/[a-z-]+|gantry\.(?!dev\b|db\b|key\b|svg\b)[a-z]+(?:-[a-z]+)*)['`"]/g;
const ROW = /^\| `((?:[a-z]+\.)?gantry\.(?:dev\/)?[a-z-]+)` \|/;

/** Where the table of our own names and the code differ. `sources` are the texts of the code by their paths. */
export function findNameFaults(page: string, sources: ReadonlyMap<string, string>): readonly Fault[] {
  const used = new Map(
    [...sources].flatMap(([path, text]) => [...text.matchAll(NAME)].map(([, name = '']) => [name, path] as const)),
  );
  const described = new Map(
    page.split('\n').flatMap((text, index) => {
      const [, name] = ROW.exec(text) ?? [];
      return name === undefined ? [] : [[name, index + 1] as const];
    }),
  );
  const missing = [...used].filter(([name]) => !described.has(name));
  const unknown = [...described].filter(([name]) => !used.has(name));
  return [
    ...missing.map(([name, path]) => ({ line: 1, problem: `${name} of ${path} is not in the table of names` })),
    ...unknown.map(([name, line]) => ({ line, problem: `no code has the name ${name}` })),
  ];
}
