declare const schemas: { readonly [name: string]: object };
export = schemas;
