// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import { DraftInput } from './draft-input.tsx';

afterEach(cleanup);

/** A field whose address follows when `follow` is called. */
function field() {
  const typed: string[] = [];
  const finished: string[] = [];
  const of = (value: string) => (
    <DraftInput
      aria-label="Namespace"
      value={value}
      onType={(text) => typed.push(text)}
      onFinish={(text) => finished.push(text)}
    />
  );
  const { rerender } = render(of(''));
  const input = screen.getByLabelText<HTMLInputElement>('Namespace');
  return {
    typed,
    finished,
    input,
    follow: (value: string) => rerender(of(value)),
    type: (value: string) => fireEvent.change(input, { target: { value } }),
  };
}

describe('a field for a part of the address', () => {
  it('keeps what was typed while the address follows', () => {
    const { input, type, follow, typed } = field();
    type('sh');
    type('shop');
    follow('sh');
    expect(input.value).toBe('shop');
    type('shops');
    follow('shop');
    expect(input.value).toBe('shops');
    expect(typed).toEqual(['sh', 'shop', 'shops']);
  });

  it('shows the address again once that says the same', () => {
    const { input, type, follow } = field();
    type('shop');
    follow('shop');
    follow('other');
    expect(input.value).toBe('other');
  });

  it('is complete when Enter is pressed or the field is left, without spaces around it', () => {
    const { input, type, finished } = field();
    type(' a ');
    fireEvent.keyDown(input, { key: 'Enter' });
    type('b');
    fireEvent.blur(input);
    expect(finished).toEqual(['a', 'b']);
    expect(input.value).toBe('');
  });

  it('returns to the address on Escape', () => {
    const { input, type, follow, finished } = field();
    follow('shop');
    type('other');
    fireEvent.keyDown(input, { key: 'Escape' });
    fireEvent.blur(input);
    expect([input.value, finished]).toEqual(['shop', []]);
  });
});
