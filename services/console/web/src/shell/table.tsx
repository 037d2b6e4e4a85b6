import type { ReactNode } from 'react';

interface Props {
  /** The names of its columns. */
  readonly of: readonly string[];
  /** For screen readers, of a table without a heading of its own. */
  readonly label?: string;
  readonly className?: string;
  /** Its rows. */
  readonly children: ReactNode;
}

/** A small table. Where it is wider than the page, it scrolls, with the keyboard, too. */
export function Table({ of, label, className, children }: Props): ReactNode {
  return (
    <div className="scroll-box" tabIndex={0}>
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
    </div>
  );
}
