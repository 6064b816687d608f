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
  return `# Generated from the OpenAPI document by \`npm run sdks:generate\`. Do not edit.
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, List, Optional
from urllib.parse import quote

#: The JSON fields that are amounts.
AMOUNT_FIELDS = frozenset(${JSON.stringify(amountFields(api))})


class Amount(str):
    """An amount as a decimal text: in responses with two decimals, such as \`\`100.50\`\`."""


def _named(name: str, **options: Any) -> Any:
    """A field with this name in JSON."""
    return field(metadata={"name": name}, **options)

${api.enums.map(enumSource).join('\n')}
${inOrder(api.objects).map(objectSource).join('\n')}

@dataclass(frozen=True)
class ApiRequest:
    """A request to the service."""

    method: str
    path: str
    #: The type of the result.
    result: Any
    query: Optional[dict] = None
    body: Optional[dict] = None
    #: Whether the body gets a hashCode.
    is_hashed: bool = False
    #: Whether it can be repeated after a lost response.
    is_repeatable: bool = True
    #: Whether the result is the field \`\`result\`\` of the response.
    is_envelope: bool = False


class Operations:
    """The operations of the API. Each raises a TransferdError."""

    def _send(self, request: ApiRequest) -> Any:
        raise NotImplementedError
${api.operations.map((operation) => operationSource(operation, false)).join('')}

class AsyncOperations:
    """The operations of the API as coroutines. Each raises a TransferdError."""

    async def _send(self, request: ApiRequest) -> Any:
        raise NotImplementedError
${api.operations.map((operation) => operationSource(operation, true)).join('')}`
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

function objectSource({ name, fields }: ObjectModel): string {
  // A field with a default follows those without.
  const sorted = [...fields].sort((a, b) => Number(b.isRequired) - Number(a.isRequired))
  return `
@dataclass(frozen=True)
class ${name}:
${sorted.map(fieldSource).join('')}`
}

function fieldSource({ name, type, isNullable, isRequired, description }: Field): string {
  const comment =
    description &&
    `${wrapped(description)
      .map((line) => `    #: ${line}`)
      .join('\n')}\n`
  const source = isNullable || !isRequired ? `Optional[${typeSource(type)}]` : typeSource(type)
  return `${comment}    ${fieldName(name)}: ${source} = _named("${name}"${isRequired ? '' : ', default=None'})\n`
}

function operationSource(operation: Operation, isAsync: boolean): string {
  const { id, method, path, pathParameters, query, body, isHashed, isEnvelope, isRepeatable } = operation
  const fields = [...(body?.fields ?? []), ...query]
  const keywords = [...fields]
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired))
    .map(({ name, type, isRequired }) =>
      isRequired
        ? `${fieldName(name)}: ${parameterType(type)}`
        : `${fieldName(name)}: Optional[${parameterType(type)}] = None`,
    )
  const parameters = [
    'self',
    ...pathParameters.map((name) => `${fieldName(name)}: str`),
    ...(keywords.length > 0 ? ['*', ...keywords] : []),
  ]
  const dict = (of: readonly Field[], constants: readonly string[] = []) =>
    `{${[...of.map(({ name }) => `"${name}": ${fieldName(name)}`), ...constants].join(', ')}}`
  const constants = Object.entries(body?.constants ?? {}).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
  const url = pathParameters.reduce(
    (text, name) => text.replace(`{${name}}`, `{quote(${fieldName(name)}, safe='')}`),
    path,
  )
  const result = typeSource(operation.result)
  const parts = [
    `"${method}"`,
    `${pathParameters.length > 0 ? 'f' : ''}"${url}"`,
    result,
    ...(query.length > 0 ? [`query=${dict(query)}`] : []),
    ...(body ? [`body=${dict(body.fields, constants)}`] : []),
    ...(isHashed ? ['is_hashed=True'] : []),
    ...(isRepeatable ? [] : ['is_repeatable=False']),
    ...(isEnvelope ? ['is_envelope=True'] : []),
  ]
  const documented = [...(body?.fields ?? []), ...query].filter(({ description }) => description)
  const explanations = documented.flatMap(({ name, description }) => {
    const [first, ...rest] = wrapped(`${fieldName(name)}: ${description}`)
    return [`        ${first}`, ...rest.map((line) => `            ${line}`)]
  })
  const text = wrapped(operation.description).join('\n        ')
  const docstring = explanations.length > 0 ? `${text}\n\n${explanations.join('\n')}\n        ` : text
  return `
    ${isAsync ? 'async ' : ''}def ${snakeCase(id)}(${listed(parameters, 8, 4)}) -> ${operation.isResultNullable ? `Optional[${result}]` : result}:
        """${docstring}"""
        request = ApiRequest(${listed(parts, 12, 8)})
        return ${isAsync ? 'await ' : ''}self._send(request)
`
}

/** Returns the parts in one line if they fit, otherwise one per line. */
function listed(parts: readonly string[], indent: number, endIndent: number): string {
  const line = parts.join(', ')
  if (line.length < maxLength - 60) return line
  return `\n${parts.map((part) => `${' '.repeat(indent)}${part},\n`).join('')}${' '.repeat(endIndent)}`
}

function wrapped(text: string): string[] {
  const lines: string[] = []
  for (const word of text.replaceAll('`', '``').split(/\s+/)) {
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
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([a-zA-Z])(2)([A-Z])/g, '$1_$2$3')
    .toLowerCase()
}

const parameterType = (type: Type) => (type.kind === 'amount' ? 'str' : typeSource(type))

function typeSource(type: Type): string {
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
    case 'list':
      return `List[${typeSource(type.item)}]`
    case 'named':
      return type.name
    default:
      return type satisfies never
  }
}
