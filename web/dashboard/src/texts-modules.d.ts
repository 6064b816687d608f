/** The build provides these modules (vite.config.ts). */
declare module 'texts:*' {
  const texts: Readonly<Record<string, import('./app/packed-texts').PackedPart[]>>
  export default texts
}
