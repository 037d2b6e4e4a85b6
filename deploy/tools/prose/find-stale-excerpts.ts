import type { BrokenReference } from './find-broken-references.ts';

/**
 * Code blocks that name a file (```` ```ts path/of/file.ts ````) and are not an excerpt of it. `read` yields the file's text,
 * undefined when it does not exist.
 */
export function findStaleExcerpts(
  page: string,
  read: (path: string) => string | undefined,
): readonly BrokenReference[] {
  return [...page.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm)].flatMap(({ 1: path = '', 2: code = '', index }) => {
    if (read(path)?.includes(code) === true) return [];
    return [{ line: page.slice(0, index).split('\n').length, problem: `the code is not an excerpt of ${path}` }];
  });
}
