import type { ReactNode } from 'react';

/** The names of a table's columns. */
export function Heads({ of }: { readonly of: readonly string[] }): ReactNode {
  return (
    <thead>
      <tr>
        {of.map((name) => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
