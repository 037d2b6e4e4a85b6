type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | { readonly kind: 'filter'; readonly path: readonly string[]; readonly operator: string; readonly value: unknown };

/** A path into an object (`.spec.n`, `.status.conditions[?(@.type=="Ready")].status`); returns the first value that it selects. */
export type JsonPath = (object: unknown) => unknown;

const FIELD = /^\.?((?:[^.[\]\\]|\\.)+)/;
const FILTER = /^\?\(\s*@((?:\.[\w/-]+)+)\s*(?:(==|!=|<=|>=|<|>)\s*("[^"]*"|'[^']*'|[^)\s]+)\s*)?\)$/;

/** Parses a path. An invalid path selects nothing. */
export function parseJsonPath(text: string): JsonPath {
  const steps = parseSteps(text);
  return (object) => (steps === undefined ? undefined : steps.reduce(follow, [object])[0]);
}

function parseSteps(text: string): readonly Step[] | undefined {
  const steps: Step[] = [];
  let rest = text.replace(/^\$/, '');
  while (rest !== '' && rest !== '.') {
    const bracket = /^\.?\[((?:"[^"]*"|'[^']*'|[^\]"'])*)\]/.exec(rest);
    const match = bracket ?? FIELD.exec(rest);
    if (match === null) return undefined;
    const step = bracket === null ? fieldStep(match[1] ?? '') : bracketStep((match[1] ?? '').trim());
    if (step === undefined) return undefined;
    steps.push(step);
    rest = rest.slice(match[0].length);
  }
  return steps;
}

function fieldStep(name: string): Step {
  return name === '*' ? { kind: 'all' } : { kind: 'field', name: name.replaceAll(/\\(.)/g, '$1') };
}

function bracketStep(text: string): Step | undefined {
  if (text === '*') return { kind: 'all' };
  if (/^-?\d+$/.test(text)) return { kind: 'index', index: Number(text) };
  const quoted = /^(["'])(.*)\1$/.exec(text);
  if (quoted !== null) return { kind: 'field', name: quoted[2] ?? '' };
  const filter = FILTER.exec(text);
  if (filter === null) return undefined;
  const path = (filter[1] ?? '').split('.').slice(1);
  return { kind: 'filter', path, operator: filter[2] ?? '', value: literal(filter[3] ?? '') };
}

function literal(text: string): unknown {
  if (/^["']/.test(text)) return text.slice(1, -1);
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

function follow(values: readonly unknown[], step: Step): readonly unknown[] {
  return values.flatMap((value) => {
    if (value === null || typeof value !== 'object') return [];
    switch (step.kind) {
      case 'field':
        return Object.hasOwn(value, step.name) ? [(value as Record<string, unknown>)[step.name]] : [];
      case 'index':
        return Array.isArray(value) && value.at(step.index) !== undefined ? [value.at(step.index) as unknown] : [];
      case 'all':
        return Object.values(value);
      case 'filter':
        return Object.values(value).filter((item) => passes(item, step));
    }
  });
}

function passes(item: unknown, { path, operator, value }: Step & { kind: 'filter' }): boolean {
  const found = path.reduce<unknown>(
    (at, name) =>
      at !== null && typeof at === 'object' && Object.hasOwn(at, name)
        ? (at as Record<string, unknown>)[name]
        : undefined,
    item,
  );
  if (operator === '') return found !== undefined;
  if (operator === '!=') return found !== value;
  if (operator === '==') return found === value;
  if (typeof found !== typeof value || found === undefined) return false;
  const [a, b] = [found as number, value as number];
  return operator === '<' ? a < b : operator === '>' ? a > b : operator === '<=' ? a <= b : a >= b;
}
