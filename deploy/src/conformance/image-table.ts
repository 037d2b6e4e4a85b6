/** One question to a container of the image; `IMAGE` in `run` is the image's name. */
export type Proof =
  | { readonly run: readonly string[]; readonly says: string }
  | { readonly serve: readonly string[]; readonly ask: readonly string[]; readonly says: string };

/** What an image that the official program asks for is made of where no registry has it. */
export type ImageEntry =
  | {
      readonly name: string;
      readonly kind: 'stand-in';
      /** deploy/conformance/images/NAME.Dockerfile. */
      readonly dockerfile: string;
      /** In words, for people. */
      readonly of: string;
      readonly args?: Readonly<Record<string, string>>;
      /** It does what the tests look at. */
      readonly proofs: readonly Proof[];
    }
  | {
      readonly name: string;
      /** `refused`: tests prove that it cannot be had, so it must not be here. */
      readonly kind: 'pulled only' | 'refused';
      readonly why: string;
    };

/** Reads deploy/conformance/images.json. */
export function parseImageTable(text: string): readonly ImageEntry[] {
  return JSON.parse(text) as readonly ImageEntry[];
}

/** The names that `e2e.test --list-images` prints. */
export function parseImageList(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^[a-z0-9.-]+\/\S+:\S+$/.test(line));
}

/** How the table differs from what the program asks for; empty when it does not. */
export function compareImages(table: readonly ImageEntry[], asked: readonly string[]): readonly string[] {
  const names = new Set(table.map(({ name }) => name));
  return [
    ...asked.filter((name) => !names.has(name)).map((name) => `the program asks for ${name}, which images.json lacks`),
    ...[...names]
      .filter((name) => !asked.includes(name))
      .map((name) => `images.json has ${name}, which no test asks for`),
  ];
}

/** Images that a Dockerfile starts from. */
export function basesOf(dockerfile: string): readonly string[] {
  return [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base = '']) => base);
}
