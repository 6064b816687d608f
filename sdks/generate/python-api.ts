import {
  type Api,
  amountFields,
  type EnumModel,
  type Field,
  type ObjectModel,
  type Operation,
  type Type,
} from './api-model.js'

const maxLength = 110

/** Returns the source of sdks/python/src/transferd/api.py, for Python 3.9 and later. */
export function pythonApi(api: Api): string {
  const types = typesOf(api)
  const objects = inOrder(api.objects)
  const exported = ['Amount', ...api.enums.map(({ name }) => name), ...objects.map(({ name }) => name)].sort()
  return `# Generated from the OpenAPI document by \`npm run sdks:generate\`. Do not edit.
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, AsyncIterator, Dict, Generic, Iterator, List, Optional, Type, TypeVar
from urllib.parse import quote

__all__ = [
${exported.map((name) => `    "${name}",\n`).join('')}]

#: The JSON fields that are amounts.
AMOUNT_FIELDS = frozenset(
    [
${amountFields(api)
  .map((name) => `        "${name}",\n`)
  .join('')}    ]
)

T = TypeVar("T")


class Amount(str):
    """An amount as a decimal text: in responses with two decimals, such as \`\`100.50\`\`."""


def _named(name: str, **options: Any) -> Any:
    """A field with this name in JSON."""
    return field(metadata={"name": name}, **options)

${api.enums.map(enumSource).join('\n')}
${objects.map((object) => objectSource(object, types)).join('\n')}

@dataclass(frozen=True)
class ApiRequest(Generic[T]):
    """A request to the service."""

    method: str
    path: str
    #: The type of the result.
    result: Type[T]
    query: Optional[Dict[str, Any]] = field(default=None, repr=False)
    #: Without a repr, because it can contain a password.
    body: Optional[Dict[str, Any]] = field(default=None, repr=False)
    #: Whether the body gets a hashCode.
    is_hashed: bool = False
    #: Whether it can be repeated after a lost response.
    is_repeatable: bool = True
    #: Whether the result is the field \`\`result\`\` of the response.
    is_envelope: bool = False
    #: Whether the result can be null.
    is_nullable: bool = False


class Operations:
    """The operations of the API. Each raises a TransferdError."""

    def _send(self, request: ApiRequest[T]) -> T:
        raise NotImplementedError

    def _advanced(self, position: Optional[str], next_: Optional[str]) -> str:
        raise NotImplementedError
${api.operations.map((operation) => operationSource(operation, api, types, false)).join('')}

class AsyncOperations:
    """The operations of the API as coroutines. Each raises a TransferdError."""

    async def _send(self, request: ApiRequest[T]) -> T:
        raise NotImplementedError

    def _advanced(self, position: Optional[str], next_: Optional[str]) -> str:
        raise NotImplementedError
${api.operations.map((operation) => operationSource(operation, api, types, true)).join('')}`
}

function enumSource({ name, values }: EnumModel): string {
  const base = typeof values[0]![1] === 'number' ? 'IntEnum' : 'str, Enum'
  const members = values.map(([each, value]) => `    ${snakeCase(each).toUpperCase()} = ${JSON.stringify(value)}\n`)
  return `
class ${name}(${base}):
    """The known values. Later versions of the service can send others."""

${members.join('')}`
}

/** Returns the classes so that each follows those that it refers to. */
function inOrder(objects: readonly ObjectModel[]): ObjectModel[] {
  const byName = new Map(objects.map((object) => [object.name, object]))
  const sorted = new Set<ObjectModel>()
  const add = (object: ObjectModel): void => {
    for (const { type } of object.fields) {
      const used = type.kind === 'list' ? type.item : type
      const other = used.kind === 'named' ? byName.get(used.name) : undefined
      if (other && !sorted.has(other)) add(other)
    }
    sorted.add(object)
  }
  for (const object of objects) if (!/Request$/.test(object.name)) add(object)
  return [...sorted]
}

function objectSource({ name, fields }: ObjectModel, types: Types): string {
  // A field with a default follows those without.
  const sorted = [...fields].sort((a, b) => Number(b.isRequired) - Number(a.isRequired))
  return `
@dataclass(frozen=True)
class ${name}:
${sorted.map((field) => fieldSource(field, types)).join('')}`
}

function fieldSource(field: Field, types: Types): string {
  const { name, type, isNullable, isRequired } = field
  const comment = wrapped(explanationOf(field, types)).map((line) => `    #: ${line}\n`)
  const source = isNullable || !isRequired ? `Optional[${types.source(type)}]` : types.source(type)
  // A log of the object must not contain a token.
  const options = [...(isRequired ? [] : ['default=None']), ...(name === 'token' ? ['repr=False'] : [])]
  return `${comment.join('')}    ${fieldName(name)}: ${source} = _named(${[`"${name}"`, ...options].join(', ')})\n`
}

function operationSource(operation: Operation, api: Api, types: Types, isAsync: boolean): string {
  const { id, method, path, pathParameters, query, body, isHashed, isEnvelope, isRepeatable } = operation
  const fields = [...(body?.fields ?? []), ...query]
  const keywords = [...fields]
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired))
    .map((field) => parameterSource(field, types))
  const parameters = [
    'self',
    ...pathParameters.map((name) => `${fieldName(name)}: str`),
    ...(keywords.length > 0 ? ['*', ...keywords] : []),
  ]
  const dict = (of: readonly Field[], constants: readonly string[] = []) =>
    `{${listed([...of.map(({ name }) => `"${name}": ${fieldName(name)}`), ...constants], 16, 12)}}`
  const constants = Object.entries(body?.constants ?? {}).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
  const url = pathParameters.reduce(
    (text, name) => text.replace(`{${name}}`, `{quote(${fieldName(name)}, safe='')}`),
    path,
  )
  const result = types.source(operation.result)
  const parts = [
    `"${method}"`,
    `${pathParameters.length > 0 ? 'f' : ''}"${url}"`,
    result,
    ...(query.length > 0 ? [`query=${dict(query)}`] : []),
    ...(body ? [`body=${dict(body.fields, constants)}`] : []),
    ...(isHashed ? ['is_hashed=True'] : []),
    ...(isRepeatable ? [] : ['is_repeatable=False']),
    ...(isEnvelope ? ['is_envelope=True'] : []),
    ...(operation.isResultNullable ? ['is_nullable=True'] : []),
  ]
  const explanations = fields.flatMap((field) => {
    const explanation = explanationOf(field, types)
    if (!explanation) return []
    const [first, ...rest] = wrapped(`${fieldName(field.name)}: ${explanation}`)
    return [`        ${first}`, ...rest.map((line) => `            ${line}`)]
  })
  const text = wrapped(operation.description).join('\n        ')
  const docstring = explanations.length > 0 ? `${text}\n\n${explanations.join('\n')}\n        ` : text
  return `
    ${isAsync ? 'async ' : ''}def ${snakeCase(id)}(${listed(parameters, 8, 4)}) -> ${operation.isResultNullable ? `Optional[${result}]` : result}:
        """${docstring}"""
        request = ApiRequest(${listed(parts, 12, 8)})
        return ${isAsync ? 'await ' : ''}self._send(request)
${iterationSource(operation, api, types, isAsync)}`
}

/** Returns a method that yields the items of all pages, for an operation that returns pages with a cursor. */
function iterationSource({ id, query, result }: Operation, api: Api, types: Types, isAsync: boolean): string {
  if (!query.some(({ name }) => name === 'cursor')) return ''
  const page = api.objects.find(({ name }) => result.kind === 'named' && name === result.name)
  const items = page?.fields.find(({ name }) => name === 'items')?.type
  if (items?.kind !== 'list') throw new Error(`${id} returns no items`)
  const filters = query.filter(({ name }) => !['cursor', 'limit'].includes(name))
  const parameters = ['self', '*', ...filters.map((field) => parameterSource(field, types))]
  const method = snakeCase(id)
  const values = [...filters.map(({ name }) => `${fieldName(name)}=${fieldName(name)}`), 'limit=100', 'cursor=cursor']
  const each = isAsync
    ? '            for item in page.items:\n                yield item'
    : '            yield from page.items'
  return `
    ${isAsync ? 'async ' : ''}def ${method.replace('list_', 'iterate_')}(${listed(parameters, 8, 4)}) -> ${isAsync ? 'Async' : ''}Iterator[${types.source(items.item)}]:
        """Yields the items of all pages of ${method}."""
        cursor: Optional[str] = None
        while True:
            page = ${isAsync ? 'await ' : ''}self.${method}(${listed(values, 16, 12)})
${each}
            if page.next_cursor is None:
                return
            cursor = self._advanced(cursor, page.next_cursor)
`
}

function parameterSource({ name, type, isRequired }: Field, types: Types): string {
  const source = types.parameter(type)
  return isRequired ? `${fieldName(name)}: ${source}` : `${fieldName(name)}: Optional[${source}] = None`
}

/** Returns the description of a field, which names the known values of its type. */
function explanationOf({ type, description }: Field, types: Types): string {
  const known = types.knownValues(type)
  return known === undefined
    ? description
    : [description, `\`${known}\` has the known values.`].filter(Boolean).join(' ')
}

/** Returns the parts in one line if they fit, otherwise one per line. */
function listed(parts: readonly string[], indent: number, endIndent: number): string {
  const line = parts.join(', ')
  if (line.length < maxLength - 60) return line
  return `\n${parts.map((part) => `${' '.repeat(indent)}${part},\n`).join('')}${' '.repeat(endIndent)}`
}

function wrapped(text: string): string[] {
  const lines: string[] = []
  for (const word of text.replaceAll('`', '``').split(/\s+/).filter(Boolean)) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= maxLength - 12)
      lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

/** In JSON the reference of a callback is misspelled, and `from` is a keyword of Python. */
const renamed: { readonly [name: string]: string } = { RefereneceId: 'reference_id', from: 'from_' }

const fieldName = (name: string) => renamed[name] ?? snakeCase(name)

function snakeCase(name: string): string {
  return (
    name
      // As in wallet_2fa.
      .replaceAll('2Fa', '_2fa')
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
      .toLowerCase()
  )
}

interface Types {
  /** Returns the type of a field in a response. */
  source(type: Type): string
  /** Returns the type of a parameter. */
  parameter(type: Type): string
  /** Returns the name of the enum with the known values. */
  knownValues(type: Type): string | undefined
}

function typesOf({ enums }: Api): Types {
  // The values are those of the JSON, because later versions of the service can send others.
  const baseOf = new Map(enums.map(({ name, values }) => [name, typeof values[0]![1] === 'number' ? 'int' : 'str']))
  const source = (type: Type): string => {
    switch (type.kind) {
      case 'string':
        return 'str'
      case 'boolean':
        return 'bool'
      case 'integer':
        return 'int'
      case 'number':
        return 'float'
      case 'amount':
        return 'Amount'
      case 'texts':
        return 'Dict[str, str]'
      case 'list':
        return `List[${source(type.item)}]`
      case 'named':
        return baseOf.get(type.name) ?? type.name
      default:
        return type satisfies never
    }
  }
  return {
    source,
    parameter: (type) => (type.kind === 'amount' ? 'str' : source(type)),
    knownValues(type) {
      const used = type.kind === 'list' ? type.item : type
      return used.kind === 'named' && baseOf.has(used.name) ? used.name : undefined
    },
  }
}
