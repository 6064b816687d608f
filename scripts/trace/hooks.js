// Module hooks that make every function of src and of the packages call `called` when it starts.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'acorn'

const root = new URL('../../', import.meta.url).href

/** Returns the source file of a module, such as `src/http/app.ts`, or `undefined` for other modules. */
function sourceOf(url) {
  const path = url.startsWith(root) ? url.slice(root.length) : ''
  return /^(dist\/src|packages\/[^/]+\/dist\/src)\/.*\.js$/.test(path)
    ? path.replace(/(^|\/)dist\/src\//, '$1src/').replace(/\.js$/, '.ts')
    : undefined
}

export async function load(url, context, nextLoad) {
  const source = sourceOf(url)
  if (source === undefined) return nextLoad(url, context)
  const code = readFileSync(fileURLToPath(url), 'utf8')
  return { format: 'module', shortCircuit: true, source: instrumented(code, source) }
}

function instrumented(code, source) {
  const insertions = []
  for (const { body } of functionsIn(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }))) {
    const call = `called(${JSON.stringify(`${source}:${body.start}`)})`
    if (body.type === 'BlockStatement') insertions.push([body.start + 1, `${call};`])
    else insertions.push([body.start, `(${call},`], [body.end, ')'])
  }
  insertions.sort(([a], [b]) => b - a)
  return insertions.reduce((text, [at, inserted]) => text.slice(0, at) + inserted + text.slice(at), code)
}

function functionsIn(node) {
  if (node === null || typeof node !== 'object') return []
  const inside = Object.values(node).flatMap(functionsIn)
  return /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)
    ? [node, ...inside]
    : inside
}
