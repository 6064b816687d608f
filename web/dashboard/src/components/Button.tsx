import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes } from 'react'
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from 'react-aria-components'
import './Button.css'

export type Look = 'primary' | 'plain' | 'danger' | 'quiet'

export interface ButtonProps extends Omit<AriaButtonProps, 'className' | 'isPending'> {
  readonly look?: Look | undefined
  /** The action is in progress, and further presses are ignored. */
  readonly pending?: boolean | undefined
  readonly className?: string
}

/** Does not use React Aria's `isPending`, whose announcement refers to an element that is removed together with the button. */
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

interface ButtonLinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  readonly look?: Look
}

/** A link to a page, styled as a button. */
export const ButtonLink = createLink(({ look = 'plain', children, ...props }: ButtonLinkProps) => (
  <a {...props} className={`Button Button-${look}`}>
    {children}
  </a>
))
