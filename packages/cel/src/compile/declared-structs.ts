import { type DeclaredType } from '../declared-type.ts';

type Fields = ReadonlyMap<string, DeclaredType>;

/**
 * The objects in declared types, by name. Those of lazy types are looked for by the path that is their name, so that an environment
 * costs what its expressions name, not what its schema has: a schema may have rules at each of its levels.
 */
export class DeclaredStructs {
  readonly #known = new Map<string, Fields>();
  readonly #lazy: (readonly [name: string, root: DeclaredType])[] = [];

  constructor(declared: Iterable<DeclaredType>) {
    for (const type of declared) this.#collect(type);
  }

  /** The fields of an object; undefined for an unknown name. */
  fieldsOf(name: string): Fields | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    for (const [rootName, root] of this.#lazy) {
      const fields = name.startsWith(`${rootName}.`) ? fieldsAt(root, name.slice(rootName.length + 1)) : undefined;
      if (fields === undefined) continue;
      this.#known.set(name, fields);
      return fields;
    }
    return undefined;
  }

  #collect(type: DeclaredType): void {
    if (type.element !== undefined) this.#collect(type.element);
    if (type.type.kind !== 'struct' || this.#known.has(type.type.name)) return;
    const { fields } = type;
    if (fields === undefined) return;
    this.#known.set(type.type.name, fields);
    if (type.isLazy === true) this.#lazy.push([type.type.name, type]);
    else for (const field of fields.values()) this.#collect(field);
  }
}

/** The fields of the object at a path below a type; undefined where there is none. No name of a field contains a dot. */
function fieldsAt(root: DeclaredType, path: string): Fields | undefined {
  let type: DeclaredType | undefined = root;
  for (const part of path.split('.')) {
    type = part === '@idx' || part === '@elem' ? type.element : type.fields?.get(part);
    if (type === undefined) return undefined;
  }
  return type.fields;
}
