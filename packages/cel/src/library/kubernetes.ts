import { append } from '@gantry/base';
import { type FunctionDeclaration, type Overload } from '../environment/function-declaration.ts';
import { ADDRESSES } from './addresses.ts';
import { FORMAT_FUNCTIONS } from './formats.ts';
import { LISTS } from './lists.ts';
import { OPTIONALS } from './optionals.ts';
import { QUANTITIES } from './quantities.ts';
import { STANDARD } from './standard.ts';
import { STRINGS } from './strings.ts';
import { TIMES } from './times.ts';
import { URLS } from './urls.ts';
import { VERSIONS } from './versions.ts';

/** All functions that expressions in Kubernetes 1.36 may call. */
export const KUBERNETES: ReadonlyMap<string, FunctionDeclaration> = merge([
  ...STANDARD,
  ...OPTIONALS,
  ...STRINGS,
  ...LISTS,
  ...TIMES,
  ...ADDRESSES,
  ...QUANTITIES,
  ...VERSIONS,
  ...URLS,
  ...FORMAT_FUNCTIONS,
]);

/** Merges functions of the same name from several libraries. */
function merge(declarations: readonly FunctionDeclaration[]): ReadonlyMap<string, FunctionDeclaration> {
  const overloads = new Map<string, Overload[]>();
  for (const declaration of declarations) {
    const known = overloads.get(declaration.name) ?? [];
    append(known, declaration.overloads);
    overloads.set(declaration.name, known);
  }
  return new Map([...overloads].map(([name, held]) => [name, { name, overloads: held }]));
}
