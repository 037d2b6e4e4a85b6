import { describe, expect, it } from 'vitest';
import { ArgumentError, projectFile, projectNames } from './project.ts';

describe('the names', () => {
  it.each([
    ['backup', {}, { name: 'backup', kind: 'Backup', group: 'example.com' }],
    ['backup-operator', {}, { name: 'backup-operator', kind: 'Backup', group: 'example.com' }],
    ['big-data-controller', { group: 'data.org' }, { name: 'big-data-controller', kind: 'BigData', group: 'data.org' }],
    ['x1', { kind: 'Thing' }, { name: 'x1', kind: 'Thing', group: 'example.com' }],
  ])('of %s with %j are %j', (name, given, names) => expect(projectNames(name, given)).toEqual(names));

  it.each([
    ['Backup', {}, 'NAME: "Backup"'],
    ['b', {}, 'NAME'],
    ['a'.repeat(41), {}, 'NAME'],
    ['-a', {}, 'NAME'],
    ['ab', { kind: 'thing' }, '--kind: "thing"'],
    ['ab', { group: 'nodots' }, '--group: "nodots"'],
  ])('%s with %j are refused', (name, given, message) => {
    expect(() => projectNames(name, given)).toThrow(ArgumentError);
    expect(() => projectNames(name, given)).toThrow(message);
  });
});

describe('a file', () => {
  const names = { name: 'backup-operator', kind: 'BigBackup', group: 'data.org' };
  it.each([
    ['GREETINGS and GREETING', 'BIG_BACKUPS and BIG_BACKUP'],
    ['Greeting, Greetings', 'BigBackup, BigBackups'],
    ['greetings.example.com', 'bigbackups.data.org'],
    ["import { greetings } from './greeting.ts'", "import { bigBackups } from './bigBackup.ts'"],
    ['the greeter of example.com', 'the backup-operator of data.org'],
  ])('with %j has %j', (text, changed) => expect(projectFile('a', text, names).text).toBe(changed));

  it.each([
    ['src/greeting.ts', 'src/bigBackup.ts'],
    ['_gitignore', '.gitignore'],
    ['package.json', 'package.json'],
  ])('%s is %s', (path, changed) => expect(projectFile(path, '', names).path).toBe(changed));
});
