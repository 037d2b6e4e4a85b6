import { expect, it } from 'vitest';
import { envFileValue, parseEnvFile } from './env-file.ts';

it.each<[string, string, string]>([
  ['a value in quotes', "A='1'\nB='2'\n", '2'],
  ['a value that is taken literally', 'B=\'$HOME \\n "x" # y\'', '$HOME \\n "x" # y'],
  ['a value of several lines', "A='x'\nB='one\ntwo\n\nthree'\nC='y'", 'one\ntwo\n\nthree'],
  ['a value behind one of several lines with its name in it', "A='\nB=0\n'\nB='1'", '1'],
  ['the first of two', "B='1'\nB='2'", '1'],
  ['comments and empty lines', "# B='0'\n\n  \t\n \tB='1' # said", '1'],
  ['nothing behind a space', "B= '1'", ''],
  ['no such name', "A='1'", ''],
  ['an empty file', '', ''],
  ['what comes after it is not looked at', "B='1'\nnonsense", '1'],
  ['lines of Windows', "A='1'\r\nB='2'\r\n", '2'],
])('the value of a file of variables: %s', (_, text, value) => {
  expect(envFileValue(parseEnvFile(text), 'B')).toBe(value);
});

it.each(['B', '=x', "B ='1'", 'B=1', 'B="1"', "B='1", "B='1\n", "B='1'2", "A=1\nB='2'"])(
  'a file of variables is refused: %j',
  (text) => {
    expect(() => envFileValue(parseEnvFile(text), 'B')).toThrow("couldn't parse env file");
  },
);
