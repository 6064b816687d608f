import type { FastifySchemaValidationError as SchemaError } from 'fastify'
import { escapeHidden, isVisible } from '../../kernel/text.js'

/** The keys and indexes that lead from a value to one of its parts. */
type Parts = readonly (string | number)[]

const maxKeyLength = 40
const maxPathLength = 200
/** So that a body with thousands of invalid values gets a short response. */
const maxErrors = 100
const plainKey = /^[\p{L}\p{N}_$-]+$/u

/** Returns the name of a field, such as `callbacks[3].trackingId` or `metadata["a b"]`, and of the whole value, `body`. */
export function fieldPath(parts: Parts): string {
  let path = ''
  for (const part of parts) {
    if (typeof part === 'number') path += `[${part}]`
    else if (part.length <= maxKeyLength && plainKey.test(part) && isVisible(part))
      path += path === '' ? part : `.${part}`
    else path += `[${shownKey(part)}]`
  }
  return shortened(path, maxPathLength) || 'body'
}

/** Returns the quoted beginning of a key that a caller sent, without characters that hide or rearrange text. */
export function shownKey(key: string): string {
  return escapeHidden(JSON.stringify(shortened(key, maxKeyLength)))
}

function shortened(text: string, most: number): string {
  // A character has at most two code units, so the slice never ends within the last kept one.
  const characters = text.length > most ? [...text.slice(0, 2 * most)] : []
  return characters.length === 0 ? text : `${characters.slice(0, most - 1).join('')}…`
}

/**
 * Returns the errors of Ajv, at most `maxErrors`, each with the path of its field as `instancePath`, which is a JSON pointer otherwise. A
 * pointer does not distinguish the index of a list from a key. Of a union, only the errors of one branch remain.
 */
export function withFieldPaths(errors: readonly SchemaError[], data: unknown): SchemaError[] {
  return withoutOtherBranches(errors)
    .slice(0, maxErrors)
    .map((error) => ({ ...error, instancePath: fieldPath(partsOf(error, data)) }))
}

function partsOf({ instancePath, keyword, params }: SchemaError, data: unknown): Parts {
  const parts: (string | number)[] = []
  let value = data
  for (const escaped of instancePath.split('/').slice(1)) {
    const key = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
    parts.push(Array.isArray(value) ? Number(key) : key)
    value = (value as { readonly [key: string]: unknown })[key]
  }
  if (keyword === 'required') parts.push(String(params.missingProperty))
  if (keyword === 'additionalProperties') parts.push(String(params.additionalProperty))
  return parts
}

/** Ajv reports a union after the errors of all its branches, and a key after the errors of the key. */
function withoutOtherBranches(errors: readonly SchemaError[]): SchemaError[] {
  const kept: SchemaError[] = []
  for (const error of errors) {
    const isUnion = error.keyword === 'anyOf' || error.keyword === 'oneOf'
    if (!isUnion && error.keyword !== 'propertyNames') kept.push(error)
    else {
      let from = kept.length
      while (from > 0 && isWithin(kept[from - 1]!, error)) from--
      const causes = kept.splice(from)
      for (const each of isUnion ? ofOneBranch(error, causes) : [ofKey(error, causes)]) kept.push(each)
    }
  }
  return kept
}

function isWithin(inner: SchemaError, outer: SchemaError): boolean {
  return (
    inner.schemaPath.startsWith(`${outer.schemaPath}/`) && `${inner.instancePath}/`.startsWith(`${outer.instancePath}/`)
  )
}

/** The parameters are those of the keyword that the key violates, of `propertyNames`, and the keyword as `rule`. */
function ofKey(error: SchemaError, [cause]: readonly SchemaError[]): SchemaError {
  return cause ? { ...error, params: { ...cause.params, ...error.params, rule: cause.keyword } } : error
}

/** Returns the errors of the branch that the value was probably meant for, or one error for all of them. */
function ofOneBranch(union: SchemaError, errors: readonly SchemaError[]): readonly SchemaError[] {
  const byBranch = new Map<string, SchemaError[]>()
  for (const error of errors) {
    const branch = error.schemaPath.slice(union.schemaPath.length + 1).split('/', 1)[0]!
    const known = byBranch.get(branch)
    if (known) known.push(error)
    else byBranch.set(branch, [error])
  }
  const branches = [...byBranch.values()]
  // The value matches more than one branch.
  if (branches.length === 0 || (union.params.passingSchemas ?? null) !== null) return [union]
  const ofValue = (branch: readonly SchemaError[]) =>
    branch.filter(({ instancePath }) => instancePath === union.instancePath)
  const values = branches.map((branch) =>
    ofValue(branch).find(({ params }) => 'allowedValue' in params || 'allowedValues' in params),
  )
  if (values.every((each) => each !== undefined)) {
    const allowedValues = values.flatMap(({ params }) => params.allowedValues ?? [params.allowedValue])
    return [{ ...union, keyword: 'enum', params: { allowedValues: [...new Set(allowedValues)] } }]
  }
  // A value of another branch has the wrong type, or lacks or adds fields.
  return branches.reduce((best, each) => (ofValue(each).length < ofValue(best).length ? each : best))
}
