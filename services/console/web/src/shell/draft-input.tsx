import { type ComponentProps, type KeyboardEvent, type ReactNode, useState } from 'react';

/**
 * What a person has chosen, until the address says it too: it follows a moment later, and what was typed meanwhile must not be lost. `drop`
 * returns to the address.
 */
export function useDraft<T>(value: T): {
  readonly shown: T;
  readonly change: (to: T) => void;
  readonly drop: () => void;
} {
  const [draft, setDraft] = useState<{ readonly value: T }>();
  if (draft !== undefined && Object.is(draft.value, value)) setDraft(undefined);
  return {
    shown: draft === undefined ? value : draft.value,
    change: (to) => setDraft({ value: to }),
    drop: () => setDraft(undefined),
  };
}

interface Props extends Omit<ComponentProps<'input'>, 'value' | 'onChange' | 'onBlur' | 'onKeyDown'> {
  /** What the address says. */
  readonly value: string;
  /** Each text that is typed. */
  readonly onType?: (text: string) => void;
  /** A complete text: Enter was pressed, or the field was left. Escape returns to the address. */
  readonly onFinish?: (text: string) => void;
}

/** A field for a part of the address. */
export function DraftInput({ value, onType, onFinish, ...input }: Props): ReactNode {
  const { shown, change, drop } = useDraft(value);
  const finish = () => {
    if (shown.trim() !== value) onFinish?.(shown.trim());
  };
  const onKeyDown = ({ key }: KeyboardEvent) => {
    if (key === 'Enter') finish();
    if (key === 'Escape') drop();
  };
  return (
    <input
      autoComplete="off"
      spellCheck={false}
      {...input}
      value={shown}
      onChange={({ currentTarget }) => {
        change(currentTarget.value);
        onType?.(currentTarget.value);
      }}
      onBlur={() => {
        finish();
        drop();
      }}
      onKeyDown={onKeyDown}
    />
  );
}
