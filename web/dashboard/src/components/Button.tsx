import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes } from 'react'
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from 'react-aria-components'
import './Button.css'

export type Look = 'primary' | 'plain' | 'danger' | 'quiet'

export interface ButtonProps extends Omit<AriaButtonProps, 'className' | 'isPending'> {
  readonly look?: Look | undefined
  /** Being carried out: a second press does nothing. */
  readonly pending?: boolean | undefined
  readonly className?: string
}

/** React Aria's own `isPending` has screen readers told of an element that is gone when the button is. */
export function Button({ look = 'plain', pending = false, className = '', onPress, ...props }: ButtonProps) {
  const classes = `Button Button-${look} ${pending ? 'Button-pending' : ''} ${className}`
  return (
    <AriaButton
      {...props}
      onPress={(event) => pending || onPress?.(event)}
      aria-disabled={pending}
      className={classes}
    />
  )
}

interface LookingLinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  readonly look?: Look
}

/** A link to a page that looks like a button. */
export const ButtonLink = createLink(({ look = 'plain', children, ...props }: LookingLinkProps) => (
  <a {...props} className={`Button Button-${look}`}>
    {children}
  </a>
))
