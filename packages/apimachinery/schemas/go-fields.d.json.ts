declare const fields: { readonly [schema: string]: { readonly [field: string]: string } };
export = fields;
