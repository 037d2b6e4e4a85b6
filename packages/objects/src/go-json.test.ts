import { describe, expect, it } from 'vitest';
import { goJson } from './go-json.ts';

describe('JSON as Go writes it', () => {
  it.each([
    ['a<b>c&d', String.raw`"a\u003cb\u003ec\u0026d"`],
    ['\u2028\u2029', String.raw`"\u2028\u2029"`],
    ['\\u003c', String.raw`"\\u003c"`],
    ['é\b\f\n\r\t\u0001/"', String.raw`"é\b\f\n\r\t\u0001/\""`],
    [{ 'a&b': [1, true, null] }, String.raw`{"a\u0026b":[1,true,null]}`],
  ])('%j is %s', (value, text) => {
    expect(goJson(value)).toBe(text);
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
  });

  it('is indented by so many spaces', () => {
    expect(goJson({ a: '<' }, 2)).toBe('{\n  "a": "\\u003c"\n}');
  });
});
