import { dirname, join, normalize } from 'node:path';

/** What pages may refer to. */
export interface Repository {
  /** Files and folders, relative to the root, with `/` between parts and none at the end. */
  readonly paths: ReadonlySet<string>;
  /** Scripts of package.json. */
  readonly scripts: ReadonlySet<string>;
  readonly readPage: (path: string) => string;
}

export interface BrokenReference {
  readonly line: number;
  readonly problem: string;
}

const PATH = /^[\w@.*{},-]+(?:\/[\w@.*{},-]+)*\/?$/;
const FILE = /[\w*]\.(?:[cm]?[jt]s|md|jsonl?|ya?ml|proto|sh|cfg|Dockerfile)$/;

/**
 * What a Markdown page names and the repository does not have: link targets with their headings, `npm run` scripts, and
 * paths. A path is a word in code that begins with a folder of the root; between backticks also the name of a file or
 * `folder/`, which may leave out the folders before it.
 */
export function findBrokenReferences(file: string, page: string, repository: Repository): readonly BrokenReference[] {
  const broken: BrokenReference[] = [];
  let fenced = false;
  for (const [index, text] of page.split('\n').entries()) {
    const report = (problem: string) => broken.push({ line: index + 1, problem });
    if (text.startsWith('```')) fenced = !fenced;
    const spans = fenced ? [text] : [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
    for (const span of spans) {
      for (const [, script = ''] of span.matchAll(/\bnpm run ([\w-]+)/g)) {
        if (!repository.scripts.has(script)) report(`there is no npm script ${script}`);
      }
      for (const word of span.split(/,?[\s"'=:;()$]+|,$/)) {
        if (!isThere(word, fenced, repository.paths)) report(`${word} does not exist`);
      }
    }
    if (fenced) continue;
    for (const [, link = ''] of text.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)) {
      if (!/^[a-z]+:/.test(link) && !leadsSomewhere(file, page, link, repository)) report(`${link} leads nowhere`);
    }
  }
  return broken;
}

function leadsSomewhere(file: string, page: string, link: string, { paths, readPage }: Repository): boolean {
  const [path = '', heading] = link.split('#');
  const target = normalize(join(dirname(file), path)).replace(/\/$/, '');
  if (path !== '' && !paths.has(target)) return false;
  return heading === undefined || headingsOf(path === '' ? page : readPage(target)).includes(heading);
}

/** The anchors of a page's headings, as GitHub forms them. */
function headingsOf(page: string): readonly string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** Whether the word is no path of the repository, or one that exists. */
function isThere(word: string, fenced: boolean, paths: ReadonlySet<string>): boolean {
  if (!PATH.test(word) || word.startsWith('.')) return true;
  const path = word.replace(/\/$/, '');
  const inRoot = paths.has(word.split('/')[0] ?? '') && word.includes('/');
  if (!inRoot && (fenced || !(FILE.test(word) || word.endsWith('/')))) return true;
  if (paths.has(path)) return true;
  const tail = new RegExp(`${inRoot ? '^' : '(?:^|/)'}${patternOf(path)}$`);
  return [...paths].some((candidate) => tail.test(candidate));
}

/** A path with `*`, `**` and `{a,b}` as a regular expression. */
const patternOf = (path: string) =>
  path
    .replace(/[.]/g, '\\.')
    .replace(/\*\*?/g, (stars) => (stars === '*' ? '[^/]*' : '.*'))
    .replace(/\{([^}]*)\}/g, (_, list: string) => `(?:${list.replaceAll(',', '|')})`);
