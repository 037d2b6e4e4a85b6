import { bodyCases } from './body-cases.ts';
import { expressionCases } from './expression-cases.ts';
import { fieldCases } from './field-cases.ts';
import type { ParserCase } from './parser-case.ts';
import { valueCases } from './value-cases.ts';

/** All parsers of client data, with all shapes of input. */
export const allCases: readonly ParserCase[] = [...bodyCases, ...valueCases, ...fieldCases, ...expressionCases];
