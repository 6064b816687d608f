import { useMemo } from 'react'
import { encode } from 'uqr'

/** Shows a QR code, black on white in both themes, because scanners expect that. */
export function QrCode({ content, label }: { readonly content: string; readonly label: string }) {
  const { size, path } = useMemo(() => {
    const { size, data } = encode(content, { border: 3 })
    const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    return { size, path: dark.join('') }
  }, [content])
  return (
    <svg className="Qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shapeRendering="crispEdges">
      <path d={path} />
    </svg>
  )
}
