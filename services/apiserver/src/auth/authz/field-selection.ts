/** The one name that a field selector leaves, if it does. */
export function selectedName(fieldSelector: string): string | undefined {
  return selectedValue(fieldSelector, 'metadata.name');
}

/** The one value that a field selector leaves for a field, if it does. */
export function selectedValue(fieldSelector: string, field: string): string | undefined {
  for (const part of fieldSelector.split(',')) {
    const match = /^([^=!]+)==?(.*)$/.exec(part.trim());
    if (match?.[1] === field) return match[2];
  }
  return undefined;
}
