import { basename } from 'node:path';
import { type Passage, readLineComments, readMarkdown, readTypeScript } from './passages.ts';
import { TERMS, VAGUE_FILE_NAMES } from './terms.ts';

/** A word of the list, where it stands and what to write. */
export interface Finding {
  readonly line: number;
  readonly found: string;
  readonly instead: string;
}

/** The words of `TERMS` in a file's prose and names, and what its own name hides. */
export function findTerms(file: string, source: string): readonly Finding[] {
  const { passages, names } = readFile(file, source);
  const lineOf = (offset: number) => source.slice(0, offset).split('\n').length;
  const findings: Finding[] = [];
  if (VAGUE_FILE_NAMES.includes(basename(file))) {
    findings.push({ line: 1, found: basename(file), instead: 'a file name that says what it holds' });
  }
  for (const term of TERMS) {
    const words = new RegExp(`\\b(?:${term.pattern.source.replaceAll(' ', '\\s+')})\\b`, 'giu');
    for (const { offset, text } of passages) {
      for (const match of text.matchAll(words)) {
        if (term.unless?.test(`${file}\n${text}`) === true) continue;
        findings.push({ line: lineOf(offset + match.index), found: match[0], instead: term.instead });
      }
    }
    for (const { offset, text } of term.name === undefined ? [] : names) {
      if (term.name?.test(text)) findings.push({ line: lineOf(offset), found: text, instead: term.instead });
    }
  }
  return findings.sort((a, b) => a.line - b.line);
}

function readFile(
  file: string,
  source: string,
): { readonly passages: readonly Passage[]; readonly names: readonly Passage[] } {
  if (/\.[cm]?[jt]s$/.test(file)) return readTypeScript(source);
  if (file.endsWith('.md')) return { passages: readMarkdown(source), names: [] };
  return { passages: readLineComments(source, file.endsWith('.proto') ? '//' : '#'), names: [] };
}
