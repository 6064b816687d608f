import { build } from 'esbuild'

/** Bundles and imports a module of the pages that needs no browser. The caller states the type of its exports. */
export async function pageModule<Module>(path: string): Promise<Module> {
  const { outputFiles } = await build({
    entryPoints: [`web/dashboard/src/${path}`],
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    write: false,
  })
  const source = outputFiles[0]!.text
  return (await import(`data:text/javascript;base64,${Buffer.from(source).toString('base64')}`)) as Module
}
