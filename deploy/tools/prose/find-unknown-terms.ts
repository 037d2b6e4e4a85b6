import type { BrokenReference } from './find-broken-references.ts';

const ROW = /^\| ([^|]+) \| [^|]+ \| `([^`]+)` \|$/;
const letters = (text: string) => text.toLowerCase().replace(/[^a-z]/g, '');

/**
 * Terms of a glossary page that do not appear in the named file or folder, or its path. `read` yields a file's text, or all of a
 * folder's; `Watch cache`, `watch-cache` and `WatchCache` are the same term.
 */
export function findUnknownTerms(page: string, read: (path: string) => string): readonly BrokenReference[] {
  return page.split('\n').flatMap((row, index) => {
    const [, term, path] = ROW.exec(row) ?? [];
    if (term === undefined || path === undefined || letters(path + read(path)).includes(letters(term))) return [];
    return [{ line: index + 1, problem: `${path} does not mention ${term}` }];
  });
}
