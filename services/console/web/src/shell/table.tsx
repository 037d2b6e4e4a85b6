import type { ReactNode } from 'react';
import { ScrollBox } from './scroll-box.tsx';

interface Props {
  /** For screen readers. */
  readonly label: string;
  /** The names of its columns. */
  readonly of: readonly string[];
  readonly className?: string;
  /** Its rows. */
  readonly children: ReactNode;
}

/** A small table. Where it is wider than the page, it scrolls, with the keyboard, too. */
export function Table({ of, label, className, children }: Props): ReactNode {
  return (
    <ScrollBox label={label}>
      <table aria-label={label} className={className}>
        <thead>
          <tr>
            {of.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </ScrollBox>
  );
}
