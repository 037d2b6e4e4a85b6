import { describe, expect, it } from 'vitest';
import { SharedResponse } from './object-response.ts';
import { RetainedBytes } from './retained-bytes.ts';

const object = (text: string) => ({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' }, data: { text } });

describe('the bytes that are kept', () => {
  it('are made once while there is room', () => {
    let made = 0;
    const response = new SharedResponse(object('x'), () => new Uint8Array(++made), new RetainedBytes(10_000));
    expect(response.jsonLine()).toBe(response.jsonLine());
    expect(response.protobuf()).toBe(response.protobuf());
    expect(response.form('frame', () => new Uint8Array(++made))).toBe(
      response.form('frame', () => new Uint8Array(++made)),
    );
    expect(made).toBe(2);
  });

  it('stay below the limit: the oldest are given up and made again', () => {
    const retained = new RetainedBytes(2_000);
    const answers = Array.from(
      { length: 50 },
      (_, i) => new SharedResponse(object(String(i).repeat(100)), () => new Uint8Array(), retained),
    );
    const first = answers.map((response) => response.jsonLine());
    expect(retained.total).toBeLessThanOrEqual(2_000);
    expect(answers[0]?.jsonLine()).not.toBe(first[0]);
    expect(answers[0]?.jsonLine()).toEqual(first[0]);
    expect(answers.at(-1)?.jsonLine()).toBe(first.at(-1));
  });

  it('are not counted any more when one of them alone is too big', () => {
    const retained = new RetainedBytes(10);
    const response = new SharedResponse(object('x'), () => new Uint8Array(), retained);
    expect(response.jsonLine().length).toBeGreaterThan(10);
    expect(retained.total).toBe(0);
  });
});
