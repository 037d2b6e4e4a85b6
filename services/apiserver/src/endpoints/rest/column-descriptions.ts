import type { Column, Describe } from '@gantry/apimachinery';

/** Fields whose sentences have paragraphs and indented lines, and no double space of the author's. */
const PARAGRAPHED: ReadonlySet<string> = new Set([
  'storage.v1.CSIDriverSpec',
  'resource.v1.ResourceSliceSpec',
  'resource.v1.ResourcePool',
  'certificates.v1.CertificateSigningRequestSpec',
  'flowcontrol.v1.LimitedPriorityLevelConfiguration',
]);

/** What a Table says of a column: its own words, or those of the field that it shows. */
export function describeColumn({ description }: Column, describe: Describe): string {
  if (typeof description === 'string') return description;
  const { schema, field } = description;
  return withLines(schema, describe(schema, field)) ?? '';
}

/** Puts line ends back where they became spaces: two for a paragraph's end, more before a line that is indented. */
function withLines(schema: string, sentence: string | undefined): string | undefined {
  if (sentence === undefined || !PARAGRAPHED.has(schema)) return sentence;
  return sentence
    .replace(/ {4}(?=1\. )/, '\n\n  ')
    .replaceAll(/ ( {2,})/g, '\n$1')
    .replaceAll(' }  ', '\n}  ')
    .replaceAll(/(?<![\n )]) {2}(?! )|(?<=[^(]\)) {2}(?=[A-Z])/g, '\n\n');
}
