import { describe, expect, test } from 'vitest';
import { differences, parseTranscript } from './transcript.ts';

const TEXT = `# A comment.
>>> note.txt
for $NS
<<<
$ cat note.txt && \\
  whoami

one   two <age>
[<34] old $NS
[>=34] new
! a warning
\\! not a warning
? 3

$ true
`;

const only = (text: string, minor = 36) => {
  const [step] = parseTranscript(text, minor).steps;
  if (step === undefined) throw new Error('no step');
  return step;
};

describe('a transcript', () => {
  test('is files and steps, as they hold for one version', () => {
    const { files, steps } = parseTranscript(TEXT, 33, { NS: 'here' });
    expect([...files]).toEqual([['note.txt', 'for here\n']]);
    expect(steps.map(({ line, command, code }) => ({ line, command, code }))).toEqual([
      { line: 5, command: 'cat note.txt && \\\n  whoami', code: 3 },
      { line: 15, command: 'true', code: 0 },
    ]);
    expect(steps[0]?.stdout).toEqual(['', 'one   two <age>', 'old here', '! not a warning', '']);
    expect(steps[0]?.stderr).toEqual(['a warning']);
    expect(parseTranscript(TEXT, 34).steps[0]?.stdout).toContain('new');
  });

  test.each(['stray answer', '>>> endless.txt\nwords'])('is refused as %j', (text) => {
    expect(() => parseTranscript(text, 36)).toThrow('line 1');
  });
});

describe('an answer', () => {
  const answer = (stdout: string, stderr = '', code = 0) => ({ stdout, stderr, code });

  test.each([
    [
      'the widths of columns and blank lines at the end',
      '$ x\nNAME  AGE\nweb  <age>\n',
      'NAME   AGE\nweb    3m20s\n\n',
    ],
    ['several conditions', '$ x\n[>=29,<33] no\n[>=33,<37] yes\n', 'yes\n'],
    ['what looks like a pattern', '$ x\na.b (c) <none>\n', 'a.b (c) <none>\n'],
    ['unknown names in angle brackets', '$ x\n<unset> <int>\n', '<unset> 12\n'],
  ])('matches despite %s', (_what, text, stdout) => {
    expect(differences(only(text), answer(stdout))).toEqual([]);
  });

  test.each([
    ['another line', '$ x\na\nb\nc\n', answer('a\nB\nc\n'), ['- b', '+ B']],
    ['a line more', '$ x\na\n', answer('a\nb\n'), ['+ b']],
    ['a line less', '$ x\na\nb\n', answer('a\n'), ['- b']],
    ['another indentation', '$ x\n  a\n', answer('    a\n'), ['-   a', '+     a']],
    ['no age', '$ x\nweb <age>\n', answer('web now\n'), ['- web <age>', '+ web now']],
    ['a dot that stands for itself', '$ x\na.b <int>\n', answer('aXb 1\n'), ['- a.b <int>', '+ aXb 1']],
    ['a warning', '$ x\n', answer('', 'careful\n'), ['+ ! careful']],
    ['an exit code', '$ x\n? 1\n', answer(''), ['- ? 1', '+ ? 0']],
  ])('differs by %s', (_what, text, given, expected) => {
    expect(differences(only(text), given)).toEqual(['  line 1: $ x', ...expected]);
  });
});
