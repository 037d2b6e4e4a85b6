import { expect, it } from 'vitest';
import { ProgramSize } from './program-size.ts';

it.each([
  [131_070, undefined],
  [131_071, undefined],
  [131_072, 'args[0] has 131072 bytes; a program gets at most 131071 in one'],
])('an argument of %d bytes is taken up to what the kernel takes', (bytes, message) => {
  const add = () => new ProgramSize().add('args[0]', bytes);
  if (message === undefined) add();
  else expect(add).toThrow(expect.objectContaining({ code: 'CreateContainerConfigError', message }));
});

it('a variable counts with its name and the sign between', () => {
  new ProgramSize().addVariable('AB', 131_068);
  expect(() => new ProgramSize().addVariable('AB', 131_069)).toThrow('variable AB has 131072 bytes');
});

it('all strings together count with a zero byte and a pointer each', () => {
  const size = new ProgramSize();
  for (let index = 0; index < 2048; index++) size.add(`args[${index}]`, 1015);
  expect(() => size.add('args[2048]', 0)).toThrow(
    'with args[2048], arguments and variables take 2097161 bytes; a program gets at most 2097152',
  );
});

it('a long name is not repeated as a whole', () => {
  expect(() => new ProgramSize().addVariable('N'.repeat(200_000), 0)).toThrow(/^variable N{91} has 200001 bytes/);
});
