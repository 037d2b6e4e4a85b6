import { type RefObject, useLayoutEffect, useRef } from 'react';

/** For the field that finds something on the page: `/` goes to it, as in a pager. */
export function useFilterKey(): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null);
  // Not after the page was painted: what is seen takes keys.
  useLayoutEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement)
        return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);
  return field;
}
