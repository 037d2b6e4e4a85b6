/** What a project is named after. */
export interface ProjectNames {
  /** The name of the folder, of the operator, its namespace and its image. */
  readonly name: string;
  readonly kind: string;
  readonly group: string;
}

/** Thrown for an argument that cannot be used; the message names it. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

const MAX_NAME = 40;

/** The names of a project. The kind is made from the name when absent: `backup-operator` gives `Backup`. Throws ArgumentError. */
export function projectNames(name: string, given: { readonly kind?: string; readonly group?: string }): ProjectNames {
  if (!/^[a-z][-a-z0-9]*[a-z0-9]$/.test(name) || name.length > MAX_NAME) {
    const rule = `begins with a letter, has lower-case letters, digits and '-', and 2 to ${MAX_NAME} characters`;
    throw new ArgumentError(`NAME: ${JSON.stringify(name)}: a name ${rule}`);
  }
  const words = name.replace(/-(controller|operator)$/, '').split('-');
  const { kind = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(''), group = 'example.com' } =
    given;
  if (!/^[A-Z][A-Za-z0-9]{0,39}$/.test(kind)) {
    throw new ArgumentError(`--kind: ${JSON.stringify(kind)}: a kind is in PascalCase, such as Backup`);
  }
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/.test(group) || group.length > 100) {
    throw new ArgumentError(
      `--group: ${JSON.stringify(group)}: a group is a DNS name that you own, such as example.com`,
    );
  }
  return { name, kind, group };
}

/** A file of the template as a file of the project. The template is a project itself, whose names are replaced. */
export function projectFile(
  path: string,
  text: string,
  { name, kind, group }: ProjectNames,
): { readonly path: string; readonly text: string } {
  const camel = kind.charAt(0).toLowerCase() + kind.slice(1);
  const constant = kind.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toUpperCase();
  const names: readonly (readonly [RegExp, string])[] = [
    [/\bgreeter\b/g, name],
    [/\bGREETINGS\b/g, `${constant}S`],
    [/\bGREETING\b/g, constant],
    [/\bGreeting(?=s?\b)/g, kind],
    [/\bgreetings\b(?=\.example\.com)/g, `${kind.toLowerCase()}s`],
    [/\bgreeting(?=s?\b)/g, camel],
    [/\bexample\.com\b/g, group],
  ];
  const renamed = names.reduce((changed, [pattern, value]) => changed.replace(pattern, value), text);
  return { path: path.replace(/(^|\/)_/, '$1.').replace('greeting', camel), text: renamed };
}
