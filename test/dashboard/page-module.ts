import { build } from 'esbuild'

/** A module of the pages that needs no browser, as Vite would bundle it; the type is the caller's word for what it exports. */
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
