interface Parts {
  readonly paths?: unknown
  readonly components?: object
}

/**
 * Moves every schema with a title into the components of the document under that name, so that a generated client has one type for
 * each. Adds the webhooks. @throws Error if two different schemas have the same name
 */
export function nameSchemas<Document extends object>(document: Document, webhooks: object): Document {
  const schemas = new Map<string, object>()
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit)
    if (node === null || typeof node !== 'object') return node
    const visited = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, visit(value)]))
    if (typeof visited.title !== 'string') return visited
    // A description of a use does not belong to the schema itself.
    const { title, description, examples: _, ...schema } = visited
    const before = schemas.get(title)
    if (before && JSON.stringify(before) !== JSON.stringify(schema)) throw new Error(`two schemas are called ${title}`)
    schemas.set(title, schema)
    return { $ref: `#/components/schemas/${title}`, ...(description !== undefined && { description }) }
  }
  const { paths, components }: Parts = document
  const named = { paths: visit(paths), webhooks: visit(webhooks) }
  const sorted = Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
  return { ...document, ...named, components: { ...components, schemas: sorted } }
}
